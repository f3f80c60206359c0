#pragma once
/*
 * Structures of verbs to words and back, by their descriptors (desc.h).
 *
 * A structure is encoded as one word with a bit for each field that is there,
 * then these fields in order: a number in one word; a text or bytes as one
 * word with the length, then the bytes, filled up to a whole word; an embedded
 * structure as a structure; what is behind a pointer as one word with the
 * number of elements (CODEC_NULL for no pointer), then each as a structure.
 * FIELD_PRIVATE has one word, CODEC_NULL or its length in bits 0 to 15, how many
 * bytes follow in 16 to 31, and in 32 whether a hash does; then that hash, in one
 * word, then these bytes.
 *
 * No state; any thread. codec_put() reads the application's memory as the verb
 * itself would, allocates nothing and is safe in a signal handler.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/desc.h"
#include "core/wire/payload.h"

#define CODEC_NULL UINT64_MAX

enum { CODEC_ELEMENTS = 4096, CODEC_DEPTH = 8 };

struct codec_out {
	uint64_t *words;
	size_t size;  /* of @words */
	size_t used;
	bool cut;     /* it did not fit: what is there is whole as far as it goes */
	int64_t ret;  /* of the verb */
	const struct payload_rule *rule; /* for FIELD_PRIVATE; NULL: its length, and no more */
};

/* Append the arguments @args of @verb: those that go in, or those that came out. */
void codec_put_args(struct codec_out *out, enum verb verb, const uint64_t *args,
		    enum field_dir dir);

/*
 * Append what came out of @verb, which has not failed: the arguments it wrote
 * to, the public fields of the objects that it changed, then what it made (out->ret): the public fields of a new object, or each
 * of an array of handles, NULL-terminated, with its fields.
 */
void codec_put_outs(struct codec_out *out, enum verb verb, const uint64_t *args);

/* What is there of a FIELD_PRIVATE. */
struct codec_private {
	size_t length;  /* of all */
	size_t nbytes;  /* here */
	const char *bytes;
	bool hashed;
	uint64_t hash;  /* core/wire/hash.h, of all */
};

/* Told about each field in order; any may be NULL. @text is not terminated. */
struct codec_visitor {
	void (*number)(void *arg, const struct field_info *field, int64_t value);
	void (*text)(void *arg, const struct field_info *field, const char *text, size_t bytes);
	void (*private)(void *arg, const struct field_info *field, const struct codec_private *p);
	void (*null)(void *arg, const struct field_info *field);
	/* FIELD_STRUCT: @count is 1. FIELD_PTR, FIELD_OBJS: so many elements follow,
	 * each between element() and its end */
	void (*begin)(void *arg, const struct field_info *field, size_t count);
	void (*element)(void *arg, const struct field_info *field, size_t index);
	void (*element_end)(void *arg, const struct field_info *field);
	void (*end)(void *arg, const struct field_info *field);
	void *arg;
};

/*
 * Walk what codec_put_args() made. Returns the words read, or -EBADMSG where
 * they are not what @info says (cut short, or damaged); the visitor has been
 * told what came before, and all that was begun is ended: perhaps without the
 * one value that a scalar's element should have had.
 */
ssize_t codec_visit(const uint64_t *words, size_t nwords, const struct struct_info *info,
		    const struct codec_visitor *visitor);

/* Walk the array of handles of codec_put_outs(): a verb whose ret is FIELD_OBJS. */
ssize_t codec_visit_objects(const uint64_t *words, size_t nwords, const struct field_info *field,
			    const struct codec_visitor *visitor);

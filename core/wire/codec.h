#pragma once
/*
 * Encodes structures of verbs as words, and decodes them, by their descriptors (desc.h).
 *
 * A structure is encoded as one word with a bit for each field that is present, then these fields
 * in order: a number as one word; a text or bytes as one word with the length, then the bytes,
 * padded to a whole word; an embedded structure as a structure; the target of a pointer as one word
 * with the number of elements (CODEC_NULL for a null pointer), then each element as a structure.
 * FIELD_PRIVATE starts with one word: CODEC_NULL, or the length in bits 0 to 15, the number of
 * bytes that follow in bits 16 to 31, and in bit 32 whether a hash follows; then the hash, one
 * word, and the bytes.
 *
 * No state; any thread. codec_put_args() and codec_put_outputs() read the application's memory as
 * the verb itself would, allocate nothing and are safe in a signal handler.
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
	size_t size; /* of @words */
	size_t used;
	bool cut; /* output did not fit: the words written are valid, the rest is missing */
	bool acknowledges;               /* set by codec_put_args() */
	int64_t ret;                     /* of the verb */
	const struct payload_rule *rule; /* for FIELD_PRIVATE; NULL: only its length */
	/* called for the bytes of each field before they are read; may be NULL */
	void (*reads)(const void *at, size_t bytes);
};

/* Append the arguments @args of @verb: its inputs or its outputs, by @dir. */
void codec_put_args(struct codec_out *out, enum verb verb, const uint64_t *args,
		    enum field_dir dir);

/*
 * Append the results of @verb, which has succeeded: the arguments that it wrote, the public fields
 * of the objects that it changed, then its result (out->ret): the public fields of a new object, or
 * each handle of a NULL-terminated array with its fields.
 */
void codec_put_outputs(struct codec_out *out, enum verb verb, const uint64_t *args);

/* A FIELD_PRIVATE in its recorded form. */
struct codec_private {
	size_t length; /* length of the program's data */
	size_t nbytes; /* of @bytes */
	const char *bytes;
	bool hashed;
	uint64_t hash; /* core/wire/hash.h, of all bytes */
};

/* Callbacks for each field, in order; any may be NULL. @text is not terminated. */
struct codec_visitor {
	void (*number)(void *arg, const struct field_info *field, int64_t value);
	void (*text)(void *arg, const struct field_info *field, const char *text, size_t bytes);
	void (*private)(void *arg, const struct field_info *field, const struct codec_private *p);
	void (*null)(void *arg, const struct field_info *field);
	/*
	 * FIELD_STRUCT: @count is 1. FIELD_PTR, FIELD_OBJS: @count elements follow, each between
	 * `element` and `element_end`.
	 */
	void (*begin)(void *arg, const struct field_info *field, size_t count);
	void (*element)(void *arg, const struct field_info *field, size_t index);
	void (*element_end)(void *arg, const struct field_info *field);
	void (*end)(void *arg, const struct field_info *field);
	void *arg;
};

/*
 * Decode the words of codec_put_args(). Returns the number of words read, or -EBADMSG if they do
 * not match @info (cut short, or damaged). In that case the visitor has been called for all fields
 * before the error, and for the end of all that had begun; the element of a scalar may lack its
 * value.
 */
ssize_t codec_visit(const uint64_t *words, size_t nwords, const struct struct_info *info,
		    const struct codec_visitor *visitor);

/* Decode the array of handles of codec_put_outputs(): for a verb whose ret is FIELD_OBJS. */
ssize_t codec_visit_objects(const uint64_t *words, size_t nwords, const struct field_info *field,
			    const struct codec_visitor *visitor);

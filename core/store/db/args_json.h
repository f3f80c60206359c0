#pragma once
/*
 * Conversion of the codec's words (core/wire/codec.h) to the JSON of a trace:
 *
 *	number, handle, address, flags  a signed 64-bit integer
 *	enumerator                      its name ("IBV_QPS_RTS"), or a number if it has none
 *	bytes                           hex text
 *	network address                 text ("192.0.2.1:7471")
 *	structure, array                an object, an array
 *	private data, truncated         an object: its length, and its hash and first bytes if known
 *	pointer                         its target; null for NULL
 *
 * Fields that a verb's attribute mask does not select are omitted. Damaged words give valid JSON,
 * too. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/text.h"
#include "core/wire/codec.h"

/*
 * Called for each number, with its path: "attr.sg_list[0].lkey". @field may describe an array
 * element.
 */
typedef void args_visit_value(void *arg, const char *path, const struct field_info *field,
			      int64_t value);

struct args_writer {
	struct text *out;
	args_visit_value *visit; /* may be NULL */
	void *arg;
	/* private */
	struct text path;
	size_t path_ends[32];
	unsigned int depth;
	bool comma;  /* write a comma before the next member or element */
	bool scalar; /* the next number has no name */
	bool bare;   /* the text ends where a value is expected: null if none follows */
};

/* Write the members of @info's structure, without the braces. Returns the same as codec_visit(). */
ssize_t args_write_members(struct args_writer *json, const uint64_t *words, size_t nwords,
			   const struct struct_info *info);

/*
 * Write the objects that a verb created as member "ret": the fields of the new object, or an array
 * if there are several. @ret: the verb's return value. Returns the same as codec_visit().
 */
ssize_t args_write_made(struct args_writer *json, const struct field_info *ret,
			const uint64_t *words, size_t nwords);

/*
 * Write the object that the verb has changed, if any, as a member with the name of its argument. A
 * verb changes one at most (core/wire/verbs.list).
 */
ssize_t args_write_changed(struct args_writer *json, const struct struct_info *args,
			   const uint64_t *words, size_t nwords);

/* Frees the path, not the text that was written. */
void args_writer_fini(struct args_writer *json);

#pragma once
/*
 * What codec.h made, as the JSON of a trace.
 *
 * Numbers are signed 64-bit integers (handles, addresses and flags, too),
 * enumerators their names ("IBV_QPS_RTS"; a number if it has none), bytes hex
 * text, addresses of the network text ("192.0.2.1:7471"), structures objects, arrays arrays,
 * private data of which not all was recorded an object with its length and what is there of its
 * hash and its first bytes, a pointer to one structure that structure, a pointer to one value that
 * value, no pointer null. What the mask of a verb leaves out is absent. It is JSON whatever the
 * words are. One thread.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/text.h"
#include "core/wire/codec.h"

/* Told about each number, with its path: "attr.sg_list[0].lkey". @field may be an element's. */
typedef void args_told(void *arg, const char *path, const struct field_info *field, int64_t value);

struct args_writer {
	struct text *out;
	args_told *told; /* may be NULL */
	void *arg;
	/* private */
	struct text path;
	size_t path_ends[32];
	unsigned int depth;
	bool comma;  /* something stands before in this object or array */
	bool scalar; /* the next number has no name */
	bool bare;   /* a name stands last, or a scalar's place: without its value it is null */
};

/* Write the members of @info's structure, without the braces. As codec_visit(). */
ssize_t args_write_members(struct args_writer *json, const uint64_t *words, size_t nwords,
			   const struct struct_info *info);

/*
 * Write what a verb made, as member "ret": the fields of the new object, or an
 * array where there are several. @ret is the verb's. As codec_visit().
 */
ssize_t args_write_made(struct args_writer *json, const struct field_info *ret,
			const uint64_t *words, size_t nwords);

/* The objects that the verb with these @args has changed, each by its argument's name. */
ssize_t args_write_changed(struct args_writer *json, const struct struct_info *args,
			   const uint64_t *words, size_t nwords);

/* Frees the path, not the text. */
void args_writer_fini(struct args_writer *json);

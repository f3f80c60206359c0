#pragma once
/*
 * Reading a block of control verbs: call_batch.c has the format.
 *
 * The bytes are not trusted. Not thread-safe.
 */
#include "core/base/text.h"
#include "core/store/chunk/call_row.h"
#include "core/store/chunk/shapes.h"
#include "core/store/chunk/shapes_read.h"

/* A decoded block. All zero: empty. The next block reuses its memory. */
struct call_block {
	uint32_t calls;
	struct shapes_plain plain;
	struct shapes_text *strings;
	size_t nstrings, strings_size;
	bool *plain_strings; /* for each string: it is printable ASCII without escapes */
	size_t plain_size;
	struct call_pattern *shapes;
	size_t nshapes, shapes_size;
	uint64_t *values; /* CALL_COMMON columns of all calls, then those of the shapes */
	size_t nvalues, values_size;
	size_t texts;    /* bytes of the strings and shapes, at the beginning of @plain */
	uint32_t *ranks; /* by call: its number within its shape */
	size_t ranks_size;
};

/* Decode a block. 0, -EBADMSG or -ENOMEM: then the block is empty. */
int call_block_read(struct call_block *block, const void *data, size_t size);
void call_block_fini(struct call_block *block);

/* Set the object of call @i, or of its reference @ref; 0: none. */
void call_block_set_object(struct call_block *block, uint32_t i, uint32_t object);
void call_block_set_ref(struct call_block *block, uint32_t i, size_t ref, uint32_t object);

/* Pack the block with its changes. 0 or -ENOMEM. */
int call_block_pack(const struct call_block *block, struct shapes_packer *packer);

/* Are all stacks at most @stack, and all objects of calls and references at most @object? */
bool call_block_is_within(const struct call_block *block, uint32_t stack, uint32_t object);

/* The size of the block's allocated memory. */
size_t call_block_bytes(const struct call_block *block);

static inline uint64_t call_block_n(const struct call_block *block, uint32_t i)
{
	return block->values[(size_t)CALL_N * block->calls + i];
}

static inline int64_t call_block_begin(const struct call_block *block, uint32_t i)
{
	return (int64_t)block->values[(size_t)CALL_BEGIN * block->calls + i];
}

/*
 * Call @i, without args, out and refs, but with nrefs. Texts are valid until the next block is
 * read.
 */
void call_block_row(const struct call_block *block, uint32_t i, struct call_row *ret_row);

/*
 * The args, or with @out the outputs, of call @i, in @to, which is emptied first. NULL if there are
 * none, or if @to failed.
 */
const char *call_block_args(const struct call_block *block, uint32_t i, bool out, struct text *to);

/*
 * The holes of a call: the numbers and strings in its JSON. The other parts of the JSON are the
 * same in all calls with the same @form.
 */
struct call_holes {
	const struct call_block *block;
	size_t form, n;
	uint32_t calls; /* number of calls with this form */
	const uint64_t *values;
	size_t step;
};

/* The holes of the args or out of call @i; false: their JSON has no form. */
bool call_block_holes(const struct call_block *block, uint32_t i, bool out,
		      struct call_holes *ret_holes);

/* The value of a hole for strings; NULL: its JSON has escapes, or bytes that are not ASCII. */
static inline const struct shapes_text *call_holes_string(const struct call_holes *holes, size_t i)
{
	uint64_t number = holes->values[i * holes->step];

	return holes->block->plain_strings[number] ? &holes->block->strings[number] : NULL;
}

/*
 * Write the same JSON as call_block_args() to @to. *@ret_at: offset in @to of the value of each
 * hole; it has holes->n elements.
 */
void call_holes_fill(const struct call_holes *holes, struct text *to, size_t *ret_at);

/* A call with its arguments and references. All zero: empty; the next call reuses its memory. */
struct call_whole {
	struct call_row row;
	struct text args, out;
	struct ref_row *refs;
	size_t size;
};

/* Read call @i with all its texts and references. 0 or -ENOMEM. */
int call_block_read_call(const struct call_block *block, uint32_t i, struct call_whole *whole);
void call_whole_fini(struct call_whole *whole);

/* Reference @ref of call @i; @ref is below nrefs of its row. */
struct ref_row call_block_ref(const struct call_block *block, uint32_t i, size_t ref);

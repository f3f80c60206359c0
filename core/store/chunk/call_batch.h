#pragma once
/*
 * Writing control verbs of one thread as a block, by columns.
 *
 * Not thread-safe.
 */
#include "core/base/text.h"
#include "core/store/chunk/call_row.h"
#include "core/store/chunk/shapes.h"

/* A call that call_shape_read() has divided, for call_batch_add(). All zero: empty. */
struct call_shape {
	struct text key; /* what all calls of the shape have in common */
	uint64_t hash;
	size_t body; /* offset in @key of the part that does not depend on the stack */
	struct call_value {
		const char *text; /* NULL: the value is the number */
		uint64_t number;  /* or the length of the text */
	} * values;
	size_t nvalues, size;
};

/* Divide @row into the shape and the values, which refer to the texts of @row. 0 or -ENOMEM. */
int call_shape_read(struct call_shape *shape, const struct call_row *row);
void call_shape_fini(struct call_shape *shape);

struct call_batch;

/* NULL if out of memory. call_batch_free() accepts NULL. */
struct call_batch *call_batch_new(void);
void call_batch_free(struct call_batch *batch);

/*
 * Add @row, which call_shape_read() has divided into @shape; its n must be above all earlier ones.
 * 0, -ENOMEM, or -E2BIG: too large for a block.
 */
int call_batch_add(struct call_batch *batch, const struct call_shape *shape,
		   const struct call_row *row);

/* Extent of the batch since it was cleared. */
struct call_extent {
	uint32_t calls;
	uint64_t first_n, last_n;
	int64_t begin, end;   /* the first begin and the last end */
	uint64_t verbs;       /* bits of call_verb_bit() */
	uint32_t least, most; /* lowest and highest object of the calls; 0: none */
};
const struct call_extent *call_batch_extent(const struct call_batch *batch);
bool call_batch_is_full(const struct call_batch *batch);

/* Pack the batch as a block. 0 or -ENOMEM. */
int call_batch_pack(const struct call_batch *batch, struct shapes_packer *packer);
void call_batch_clear(struct call_batch *batch);

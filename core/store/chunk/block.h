#pragma once
/*
 * Reading a chunk: its columns by name, and an iterator over its events.
 *
 * A block is filled from a chunk's bytes or, for an unpacked trace, row by row from plain tables.
 * block_need() decodes a column on first use. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/chunk/column.h"
#include "core/store/chunk/columns.h"

struct block {
	struct column_view views[COLUMN_COUNT];
	uint64_t *values[COLUMN_COUNT]; /* allocated for this or an earlier chunk; or NULL */
	uint32_t sizes[COLUMN_COUNT];   /* number of elements allocated in values[] */
	uint8_t *bytes;                 /* a copy of the chunk */
	size_t bytes_size;
	uint8_t *scratch;
	size_t scratch_size;
	void *dctx;
};

/*
 * Load a chunk, replacing the block's contents: copy @bytes, check the directory, and check that
 * @families, a bit for each family that the caller will iterate, are consistent. Returns 0,
 * -EBADMSG or -ENOMEM.
 */
int block_load(struct block *block, const void *bytes, size_t n, unsigned int families);

/* The same, with all families and all columns decoded; -EBADMSG if it has no events. */
int block_load_all(struct block *block, const void *bytes, size_t n);

/* Empty the block before block_add() fills it; its memory stays allocated. */
void block_clear(struct block *block);

/* Append @value to a column, after block_clear(). 0, -ENOMEM, or -EBADMSG: the column is full. */
int block_add(struct block *block, enum column_id id, uint64_t value);

/* The size of the block's allocated memory. */
size_t block_bytes(const struct block *block);

/* Accepts a zeroed block. */
void block_fini(struct block *block);

/* Decode the column; 0, -EBADMSG or -ENOMEM. After that block_get() may be used. */
int block_need(struct block *block, enum column_id id);

/* After block_need(): the values of a linear column, too, are in view->values. 0 or -ENOMEM. */
int block_spread(struct block *block, enum column_id id);

static inline uint32_t block_count(const struct block *block, enum column_id id)
{
	return block->views[id].count;
}

/* A value of a column that block_need() has decoded; 0 past its end. */
static inline uint64_t block_get(const struct block *block, enum column_id id, uint32_t row)
{
	const struct column_view *view = &block->views[id];

	if (__builtin_expect(row >= view->count, 0))
		return 0;
	if (view->values)
		return view->values[row];
	return view->base + view->step * row;
}

/* An iterator over the events: the current row of each family. */
struct block_position {
	uint32_t at[FAMILY_COUNT];
};

/* Bits for block_load(). */
#define FAMILY_BIT(name) (1u << FAMILY_##name)
#define FAMILIES_ALL     ((1u << FAMILY_COUNT) - 1)

/* The kind of the current event, with KIND_FLAGS. */
static inline uint32_t block_event_kind(const struct block *block,
					const struct block_position *position)
{
	return (uint32_t)block_get(block, COLUMN_kind, position->at[FAMILY_EVENT]);
}

/* Skip the current work request, which has these @parts and @nsge elements. */
static inline void block_skip_known_wr(struct block_position *position, unsigned int parts,
				       uint32_t nsge)
{
	position->at[FAMILY_WR]++;
	position->at[FAMILY_SGE] += nsge;
	position->at[FAMILY_RDMA] += !!(parts & WR_RDMA);
	if (__builtin_expect(!(parts & ~(unsigned int)WR_RDMA), 1))
		return;
#define STEP(NAME, part) position->at[FAMILY_##NAME] += !!(parts & WR_##NAME);
	EACH_RARE_PART(STEP);
#undef STEP
}

/* Skip the current work request, with its parts and elements. */
void block_skip_wr(const struct block *block, struct block_position *position);

/* Skip the current completion of the current event, whose kind is @kind. */
static inline void block_skip_known_wc(struct block_position *position, uint32_t kind)
{
	position->at[FAMILY_WC]++;
	position->at[FAMILY_EXTRA] += !!(kind & KIND_EXTRA);
}

static inline void block_skip_wc(const struct block *block, struct block_position *position)
{
	block_skip_known_wc(position, block_event_kind(block, position));
}

/*
 * Skip the current event, of kind @kind, whose requests or completions have been skipped already.
 */
static inline void block_skip_known_event(struct block_position *position, uint32_t kind)
{
	position->at[kind_is_post(kind & KIND_MASK)   ? FAMILY_POST
		     : kind_is_poll(kind & KIND_MASK) ? FAMILY_POLL
						      : FAMILY_NOTIFY]++;
	position->at[FAMILY_EVENT]++;
}

/*
 * Skip the current event. @skip: also its requests or completions, which otherwise must have been
 * skipped already.
 */
void block_skip_event(const struct block *block, struct block_position *position, bool skip);

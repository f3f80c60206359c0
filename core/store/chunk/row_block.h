#pragma once
/*
 * Reading a block of rows: row_batch.c has the format.
 *
 * The bytes are not trusted. Not thread-safe.
 */
#include "core/store/chunk/row_batch.h"
#include "core/store/chunk/shapes_read.h"

/* A decoded block. All zero: empty. The next block reuses its memory. */
struct row_block {
	uint32_t rows, columns;
	struct shapes_plain plain;
	struct row_shape {
		uint32_t rows, numbers; /* rows, and columns of numbers */
		size_t first;           /* the first column is at values[first] */
	} * shapes;
	size_t nshapes, shapes_size;
	struct row_part {
		enum row_kind kind;
		uint32_t number; /* index of this number among the columns of the shape */
		struct shapes_text text;
	} * parts; /* the part of each column of each shape */
	size_t nparts, parts_size;
	uint64_t *values; /* the shape of each row, then the columns of all shapes */
	size_t nvalues, values_size;
	uint32_t *ranks; /* by row: its number within its shape */
	size_t ranks_size;
};

/* Decode a block of rows of @columns columns. 0, -EBADMSG or -ENOMEM: then the block is empty. */
int row_block_read(struct row_block *block, const void *data, size_t size, uint32_t columns);
void row_block_fini(struct row_block *block);

/* The value in @column of row @i. A ROW_NUMBERED is its text followed by its number in decimal. */
static inline struct row_value row_block_value(const struct row_block *block, uint32_t i,
					       uint32_t column)
{
	const struct row_shape *shape = &block->shapes[block->values[i]];
	const struct row_part *part = &block->parts[block->values[i] * block->columns + column];
	struct row_value value = { part->kind, 0, part->text.at, part->text.length };

	if (part->kind == ROW_NUMBER || part->kind == ROW_NUMBERED)
		value.number =
			(int64_t)block->values[shape->first + (size_t)part->number * shape->rows +
					       block->ranks[i]];
	return value;
}

#pragma once
/*
 * The common part of batches of calls and of rows: each row has a shape, and the values of the rows
 * of one shape are stored in columns.
 *
 * Not thread-safe.
 */
#include "core/base/text.h"
#include "core/store/chunk/column.h"

/* Texts, numbered in the order of their first use. All zero: empty. */
struct text_index {
	struct text bytes; /* all of them, one after the other */
	struct indexed {
		uint64_t hash;
		size_t at, length;
	} * list;
	size_t count, size;
	uint32_t *slots; /* index in @list + 1; their number is a power of two */
	size_t nslots;
};

/* Find the number of the text, or give it a new one. 0 or -ENOMEM. */
int text_index_number(struct text_index *index, uint64_t hash, const char *text, size_t n,
		      size_t *ret_number);
void text_index_clear(struct text_index *index);
void text_index_fini(struct text_index *index);

/* The shapes of a batch, each with its columns. All zero: empty. */
struct shapes {
	struct text_index keys;
	struct shape_rows {
		size_t first, count; /* columns */
	} * rows;                    /* by shape */
	size_t nrows, rows_size;
	struct column *columns; /* of all shapes; those from @ncolumns on are empty */
	size_t ncolumns, columns_size, columns_made;
};

/* Find the number of shape @key, or add it, with @columns columns. 0 or -ENOMEM. */
int shapes_number(struct shapes *shapes, uint64_t hash, const struct text *key, size_t columns,
		  size_t *ret_number);
void shapes_clear(struct shapes *shapes);
void shapes_fini(struct shapes *shapes);

static inline struct column *shapes_columns(const struct shapes *shapes, size_t number)
{
	return shapes->columns + shapes->rows[number].first;
}

/* Memory that packing reuses, for any number of batches. All zero: empty. */
struct shapes_packer {
	void *context; /* of zstd */
	struct text plain;
	struct text block; /* the last one packed */
};
void shapes_packer_fini(struct shapes_packer *packer);

/* Append parts to packer->plain. */
void shapes_put_varint(struct text *to, uint64_t value);
void shapes_put_texts(struct text *to, const struct text_index *index);
void shapes_put_column(struct text *to, const struct column *column);
void shapes_put_columns(struct text *to, const struct shapes *shapes);

/* Pack packer->plain, which has @rows rows, as a block. 0 or -ENOMEM. */
int shapes_pack(struct shapes_packer *packer, char version, uint32_t rows);

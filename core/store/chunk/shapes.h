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
	struct text bytes; /* all texts, one after the other */
	struct indexed_text {
		uint64_t hash;
		size_t at, length;
	} * list;
	size_t count, size;
	uint32_t *slots; /* index in @list + 1; nslots is a power of two */
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
		size_t first, count; /* of its columns */
	} * rows;                    /* by shape */
	size_t nrows, rows_size;
	struct column *columns; /* of all shapes; from index @ncolumns on they are empty */
	size_t ncolumns, columns_size, columns_made;
};

/* Find the number of shape @key, or add it, with @columns columns. 0 or -ENOMEM. */
int shapes_find_or_add(struct shapes *shapes, uint64_t hash, const struct text *key, size_t columns,
		       size_t *ret_number);
void shapes_clear(struct shapes *shapes);
void shapes_fini(struct shapes *shapes);

static inline struct column *shapes_columns(const struct shapes *shapes, size_t number)
{
	return shapes->columns + shapes->rows[number].first;
}

/* The version of a block that is written; version 1 can be read, too. */
enum { SHAPES_VERSION = 2 };

/* One more column_code, used in such blocks only: shapes.c */
enum { COLUMN_TIMES = COLUMN_CODES };

/* Memory for packing, reused for any number of batches. All zero: empty. */
struct shapes_packer {
	void *context; /* of zstd */
	struct text plain, sizes, frame;
	struct text_bits {
		struct text bytes;
		unsigned last, used; /* the bits of an incomplete byte */
	} bits;
	uint64_t *words; /* memory for shapes_reserve_words() */
	size_t words_size;
	struct text block; /* the block packed last */
};
void shapes_packer_fini(struct shapes_packer *packer);

/* Memory of @n words, valid until the next call. NULL if out of memory. */
uint64_t *shapes_reserve_words(struct shapes_packer *packer, size_t n);

/* Begin a block. */
void shapes_pack_begin(struct shapes_packer *packer);

/* Append parts to packer->plain. */
void shapes_put_varint(struct text *to, uint64_t value);
void shapes_put_texts(struct text *to, const struct text_index *index);
void shapes_put_column(struct text *to, const struct column *column);
void shapes_put_columns(struct shapes_packer *packer, const struct shapes *shapes);
void shapes_put_times(struct shapes_packer *packer, const uint64_t *values, size_t n);

/* Pack the appended parts as a block of @rows rows. 0 or -ENOMEM. */
int shapes_pack(struct shapes_packer *packer, uint32_t rows);

#pragma once
/*
 * Writing rows of a table as a block, by columns.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/shapes.h"

/* ROW_NUMBERED is a text with a number at its end, used only in blocks. */
enum row_kind { ROW_NULL, ROW_NUMBER, ROW_TEXT, ROW_NUMBERED, ROW_KINDS };

/* A value of a row. */
struct row_value {
	enum row_kind kind;
	int64_t number;
	const char *text;
	size_t length; /* of the text */
};

enum {
	ROWS_MAX = 4096,          /* rows of a block */
	ROW_COLUMNS_MAX = 64,     /* columns of a table */
	ROWS_TEXT_FULL = 1 << 20, /* a batch with this many bytes of shapes is full */
};

/* All zero: empty. */
struct row_batch {
	uint32_t rows, columns;
	uint64_t times; /* a bit for each column of the table that has times; the caller sets it */
	struct column shape; /* number of each row's shape */
	struct shapes shapes;
	struct text key; /* of the row added last */
};

/*
 * Add a row; all rows of a batch have the same number of columns. Texts are ROW_TEXT, and may have
 * any bytes. 0 or -ENOMEM.
 */
int row_batch_add(struct row_batch *batch, const struct row_value *values, uint32_t columns);
bool row_batch_is_full(const struct row_batch *batch);

/* Pack the batch as a block. 0 or -ENOMEM. */
int row_batch_pack(const struct row_batch *batch, struct shapes_packer *packer);
void row_batch_clear(struct row_batch *batch);
void row_batch_fini(struct row_batch *batch);

#pragma once
/*
 * The values of one column of a row group of Parquet, as the bytes of its pages.
 *
 * Not thread-safe.
 */
#include "cli/lake/rowset.h"
#include "core/base/text.h"

/* Encodings, as in parquet.thrift. */
enum { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, DELTA_BYTE_ARRAY = 7, RLE_DICTIONARY = 8 };

/*
 * Two columns may be equal in the same rows, such as the number and the name of a status. Then only
 * their dictionaries differ, and the page of one is used for both.
 */
struct shared_page {
	uint16_t *indexes; /* into the dictionary, of each class; NO_VALUE: NULL */
	struct text page;  /* empty: not yet written */
	uint64_t plain;
	uint32_t n;
};

enum { SHARED_PAGES = 8, NO_VALUE = UINT16_MAX };

/* The values of a column that are not NULL, and how they are written. */
struct values {
	const struct rowset_column *from; /* to be set by the caller */
	const struct rowset *rowset;
	struct shared_page shared[SHARED_PAGES];
	struct shared_page *same; /* the shared page of this column; NULL: none */
	uint32_t rows, n;
	const int64_t *numbers; /* of a text column: the numbers of the words */
	int64_t *room;          /* memory for `numbers`, unless these are the column's own */
	uint16_t *indexes;      /* into the dictionary */
	int64_t *distinct;      /* the dictionary */
	size_t ndistinct;
	int encoding;
	struct text dictionary, page, packed;
	int64_t least, most; /* of `numbers` */
	bool bounded;        /* the bounds are known */
	uint64_t plain, compressed;
};

/* Memory for the columns of @rowset. 0 or -ENOMEM; values_fini() in either case. */
int values_init(struct values *values, const struct rowset *rowset);
void values_fini(struct values *values);

/* Before each column: forget the one before. */
void values_clear(struct values *values);

/*
 * Encode the column: the dictionary, if it has one (values->ndistinct), and the page, unless
 * values->same already has it. If out of memory, one of the texts has failed.
 */
void values_encode(struct values *values);

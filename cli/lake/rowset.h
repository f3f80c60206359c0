#pragma once
/*
 * Rows in memory, column by column, until a format writes them.
 *
 * A number is stored as it is, a text as the number of a word in the column's list of words.
 *
 * In most columns of a large table a row has the value that all rows of its class have (a queue
 * pair, an opcode, an outcome ...): values of these columns are stored once for each class, and in
 * each row only the number of its class.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/vtab/cells.h"

enum {
	ROWSET_ROWS = 65536, /* as many rows are written together */
	/* with more distinct words, a column no longer searches for equal texts */
	ROWSET_WORDS = 4096,
	ROWSET_SLACK = 8, /* readable bytes after the last word */
	ROWSET_RECENT = 64,
};

/* Texts, one after the other. */
struct words {
	char *bytes;
	uint64_t *ends;  /* where each word ends */
	uint32_t *slots; /* a hash table of 1 + the number of a word */
	size_t used, size, nwords, ends_size;
	bool many; /* equal texts may have several numbers */
};

/*
 * Most columns have one value, or none, in all rows of a set. It is stored once, and an array is
 * used only from the first row that differs.
 */
struct rowset_column {
	bool text;
	bool spread;    /* @values is valid, else all are @first */
	bool first_set; /* false: NULL */
	/* of each row, the index of its value in @values and @set; NULL: rows have their own */
	const uint16_t *classes;
	/* for a column with the names of events: the columns of their thread and number */
	const struct rowset_column *thread, *n;
	int64_t first;
	int64_t *values; /* of a text the number of its word; 0 for NULL */
	uint8_t *set;    /* 0: NULL; not valid while no value is NULL */
	size_t values_size, set_size;
	uint32_t nulls;
	struct words words;
};

struct rowset {
	struct rowset_column *columns;
	unsigned int ncolumns;
	int order; /* the column by which rows are sorted */
	uint32_t rows;
	uint16_t *classes; /* the class of each row; NULL: there are no classes */
	uint32_t nclasses;
	/* the key of each class, and a hash table of 1 + its number */
	unsigned int key_words;
	uint64_t *keys;
	uint32_t *slots;
	size_t keys_size, nslots;
	uint32_t recent[ROWSET_RECENT]; /* 1 + a class, by the first word of its key */
};

/* @columns ends with a column without a name. 0 or -ENOMEM; rowset_fini() in either case. */
int rowset_init(struct rowset *rowset, const struct computed_column *columns, int order);
void rowset_fini(struct rowset *rowset);

/* Before the first row: rows have keys, and the columns with a bit values by class. */
int rowset_use_classes(struct rowset *rowset, uint64_t columns, unsigned int key_words);

/* Before the first row: a column has the texts of the events in two other columns. */
void rowset_use_events(struct rowset *rowset, int column, int thread, int n);

/*
 * Set the class of the row @ahead rows after the last one: all rows with the key @key have it.
 * Returns 1 if it is new, and then its columns are to be set by rowset_put_class(); 0, or -ENOMEM.
 */
int rowset_classify(struct rowset *rowset, uint32_t ahead, const void *key);
int rowset_put_class(struct rowset *rowset, unsigned int column, struct cells *cells);

/*
 * Set a column of the next @n rows, which are to be added: each column once, and then
 * rowset_end_rows(). Texts are replaced in @cells. 0 or -ENOMEM.
 */
int rowset_put(struct rowset *rowset, unsigned int column, uint32_t n, struct cells *cells);

/* @n rows have all columns now. */
static inline void rowset_end_rows(struct rowset *rowset, uint32_t n)
{
	rowset->rows += n;
}

/* Sort the rows by the column, NULL first; stable. 0 or -ENOMEM. */
int rowset_sort(struct rowset *rowset);

/* Remove all rows. */
void rowset_clear(struct rowset *rowset);

/* Has the column a value in that row? */
static inline bool rowset_is_set(const struct rowset_column *column, uint32_t row)
{
	if (column->thread)
		column = column->thread;
	if (!column->spread)
		return column->first_set;
	return !column->nulls || column->set[column->classes ? column->classes[row] : row];
}

static inline int64_t rowset_value(const struct rowset_column *column, uint32_t row)
{
	return !column->spread   ? column->first
	       : column->classes ? column->values[column->classes[row]]
				 : column->values[row];
}

/* The text of a row that has a value, in @event if it is that of an event; and its length. */
const char *rowset_text(const struct rowset_column *column, uint32_t row,
			char event[static COMPUTED_EVENT_TEXT], size_t *ret_length);

/* Word @number, and its length. */
static inline const char *word_at(const struct words *words, uint64_t number, size_t *ret_length)
{
	uint64_t from = number ? words->ends[number - 1] : 0;

	*ret_length = words->ends[number] - from;
	return words->bytes + from;
}

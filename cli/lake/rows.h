#pragma once
/*
 * The rows of a trace for other engines: which tables, and their columns.
 *
 * A table has the columns of the table of the same name in `verbatim sql`, after the columns with
 * the trace and the rank of a row. Not thread-safe.
 */
#include <stdint.h>

#include "core/store/vtab/cells.h"

struct trace;

enum rows_table {
	ROWS_REQUESTS,
	ROWS_COMPLETIONS,
	ROWS_CALLS,
	ROWS_QPS,
	ROWS_MRS,
	ROWS_PROCESSES,
	ROWS_FINDINGS,
	ROWS_STACKS,
	ROWS_TABLES
};

struct rows_columns {
	const char *name;                      /* of the table */
	const struct computed_column *columns; /* the last one has no name */
	int process, order;                    /* columns: the process, and the time of a row */
	/*
	 * The columns that have equal values in rows of equal keys, as bits; 0: the rows of this
	 * table have no keys.
	 */
	uint64_t classed;
	unsigned int key_words; /* number of 8-byte words of the key */
	/* columns whose texts are the events of the thread and the number in other columns */
	struct {
		int text, thread, n; /* text 0: none */
	} events[2];
};

/* The columns before a table's own. ROWS_NODE is the host, where no launcher named a node. */
enum { ROWS_TRACE, ROWS_JOB, ROWS_NODE, ROWS_RANK, ROWS_BEFORE };

/*
 * Fill in the own column @column, from 0 on, of @n rows from the row @from of @rows on; at most
 * CELLS_ROWS at a time.
 */
typedef void rows_fill_fn(const void *rows, uint32_t from, uint32_t n, int column,
			  struct cells *cells);

/* The key of row @at of @rows. */
typedef const void *rows_key_fn(const void *rows, uint32_t at);

/* Some rows of a table. */
struct rows_block {
	enum rows_table table;
	uint32_t n;
	uint32_t processes[CELLS_ROWS]; /* the process of each row; 0: none */
	rows_fill_fn *fill;
	rows_key_fn *key; /* if the table has keys */
	const void *rows;
};

/* Takes rows. 0 or -errno. */
struct rows_callback {
	int (*take)(void *arg, const struct rows_block *block);
	void *arg;
};

/* All tables, with their columns; NULL if out of memory. Never freed. */
const struct rows_columns *rows_tables(void);

/*
 * Add the tables of the model and the views to @trace. 0 or -errno after log_err(). *@ret_tables is
 * for model_tables_free() after trace_close(), in either case.
 */
struct model_tables;
int rows_prepare(struct trace *trace, struct model_tables **ret_tables);

/* After rows_prepare(): read all rows. 0, -errno after log_err(), or the taker's error. */
int rows_read(struct trace *trace, struct model_tables *tables, const struct rows_callback *taker);

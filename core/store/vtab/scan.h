#pragma once
/*
 * Internals of a scan, for scan.c (which row is next) and scan_value.c (its values). Not
 * thread-safe.
 */
#include "core/store/chunk/block.h"
#include "core/store/vtab/rows.h"

enum { CACHED = 8, MARKS = 128, MARK_EVENTS = 64 /* distance between two stored positions */ };

struct cached_chunk {
	uint32_t thread, process;
	uint64_t first_n, last_n;
	bool loaded;
	struct block block;
	struct block_position position; /* at the beginning of an event */
	struct block_position
		marks[MARKS]; /* earlier positions to which the iterator may move back */
	uint32_t nmarks;
};

struct scan {
	struct trace *trace;
	const struct data_table *table;
	enum table_id id;
	sqlite3_stmt *range, *point;
	bool ranging; /* the statement @range may have more chunks */
	struct rows_bounds bounds;
	uint64_t used;
	struct cached_chunk cached[CACHED];
	unsigned int turn;              /* index of the cached chunk to be replaced next */
	struct cached_chunk *chunk;     /* the current one */
	struct block_position position; /* at the current row */
	uint32_t i, j, rows, elements;
	struct objects_cache cache;
	const char *names_of; /* name of the enum that was looked up last */
	const struct enum_info *names;
};

/* The number of elements of the current request. */
static inline uint32_t scan_elements(const struct scan *scan)
{
	return (uint32_t)block_get(&scan->chunk->block, COLUMN_nsge, scan->position.at[FAMILY_WR]);
}

/* scan_value.c: decode the columns that the query needs. 0, -EBADMSG or -ENOMEM. */
int scan_decode(const struct scan *scan, struct block *block);
void scan_value(void *rows, int index, sqlite3_context *context);

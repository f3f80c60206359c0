#pragma once
/*
 * Traces as a folder of tables, one file for each table, each node of each job, and each trace.
 *
 * Rows are collected in memory until there are enough of them; then a format (struct lake_format)
 * writes them. Not thread-safe.
 */
#include <stdio.h>

#include "cli/lake/rowset.h"
#include "cli/lake/rows.h"
#include "core/base/text.h"

struct arguments;

/* A file of one table. */
struct lake_file {
	const struct rows_columns *table;
	struct rowset rowset;
	FILE *file;        /* open while a format writes the file */
	uint64_t size;     /* bytes written so far */
	uint64_t rows;     /* rows written so far */
	struct text notes; /* for the format's own use */
	size_t nnotes;
	char *path;
};

struct lake_format {
	const char *suffix; /* of a file's name */
	bool paths;         /* the job and the node are in paths, not in columns */

	/* Write the rows of the row set at the end of the file. 0 or -ENOMEM. */
	int (*put)(struct lake_file *file);

	/* Write what comes before and after all rows; NULL: nothing. */
	void (*begin)(struct lake_file *file);
	int (*end)(struct lake_file *file);

	/* Write further files into @folder, after all tables; NULL: none. 0 or -errno. */
	int (*finish)(const char *folder);
};

extern const struct lake_format parquet_format, clickhouse_format;

/* Write to the current file, and count. */
void lake_write(struct lake_file *file, const void *bytes, size_t n);

/*
 * Export all traces of @arguments to the new folder @to: whole, or not at all. An exit status,
 * after messages.
 */
int lake_export(const struct lake_format *format, const struct arguments *arguments,
		const char *to);

/*
 * Tables for ClickHouse, in its format RowBinary
 *
 * 	TABLE/part-00000.rowbinary	part I: of the I-th trace
 * 	schema.sql			a table of each server, and a Distributed one over all
 * 	load.sh				fills them
 *
 * A row is its columns one after the other: a number is 8 bytes, little-endian; a text is its
 * length, as a varint, and its bytes. Before each value that may be NULL is a byte, 1 for NULL.
 * Only the name of the trace is never NULL: rows are distributed by it, so that rows of one trace
 * are joined on one server.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/lake/encode.h"
#include "cli/lake/lake.h"
#include "cli/lake/thrift.h"
#include "core/store/outfile.h"
#include "core/wire/log.h"

static bool may_be_null(unsigned int column)
{
	return column != ROWS_TRACE;
}

static void put_value(struct text *to, const struct rowset *rowset, unsigned int c, uint32_t row)
{
	const struct rowset_column *column = &rowset->columns[c];
	bool set = rowset_is_set(column, row);
	char event[COMPUTED_EVENT_TEXT];
	const char *word;
	size_t n;

	if (may_be_null(c))
		text_char(to, !set);
	if (!set)
		return;
	if (!column->text) {
		encode_plain(to, (uint64_t)rowset_value(column, row), 8);
		return;
	}
	word = rowset_text(column, row, event, &n);
	thrift_put_varint(to, n);
	text_add(to, word, n);
}

static int put_rows(struct lake_file *file)
{
	const struct rowset *rowset = &file->rowset;
	struct text *bytes = &file->notes; /* the memory stays allocated */

	for (uint32_t row = 0; row < rowset->rows; row++) {
		bytes->used = 0;
		for (unsigned int c = 0; c < rowset->ncolumns; c++)
			put_value(bytes, rowset, c, row);
		if (bytes->failed)
			return -ENOMEM;
		lake_write(file, bytes->at, bytes->used);
	}
	return 0;
}

static void add_table(struct text *sql, const struct rows_columns *table)
{
	text_addf(sql, "CREATE TABLE IF NOT EXISTS %s_local (\n", table->name);
	for (unsigned int c = 0; table->columns[c].name; c++) {
		bool text = !strcmp(table->columns[c].type, "TEXT");
		const char *type = text ? "String" : "Int64";

		text_addf(sql, may_be_null(c) ? "    `%s` Nullable(%s)%s\n" : "    `%s` %s%s\n",
			  table->columns[c].name, type, table->columns[c + 1].name ? "," : "");
	}
	text_addf(sql, ") ENGINE = MergeTree() ORDER BY (trace, ifNull(`%s`, 0));\n",
		  table->columns[table->order].name);
	text_addf(sql,
		  "CREATE TABLE IF NOT EXISTS %s AS %s_local ENGINE =\n"
		  "    Distributed(verbatim, currentDatabase(), %s_local, cityHash64(trace));\n\n",
		  table->name, table->name, table->name);
}

static int write_text(const char *folder, const char *name, const struct text *text)
{
	struct text path = { 0 };
	struct outfile out;
	int err;

	text_addf(&path, "%s/%s", folder, name);
	err = path.failed || text->failed ? log_err(-ENOMEM, "export")
					  : outfile_open(path.at, &out);
	if (!err) {
		fwrite(text->at, 1, text->used, out.file);
		err = outfile_close(&out, 0);
	}
	text_fini(&path);
	return err;
}

static int write_schema(const char *folder)
{
	const struct rows_columns *tables = rows_tables();
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "-- For each server of the cluster \"verbatim\" (<remote_servers>).\n\n");
	for (int t = 0; t < ROWS_TABLES; t++)
		add_table(&sql, &tables[t]);
	err = write_text(folder, "schema.sql", &sql);
	text_fini(&sql);
	return err;
}

static int write_loader(const char *folder)
{
	const struct rows_columns *tables = rows_tables();
	struct text script = { 0 };
	int err;

	text_addf(&script, "#!/bin/sh\n"
			   "# sh load.sh [OPTION OF clickhouse-client]...: after schema.sql, once\n"
			   "set -e\n"
			   "cd \"$(dirname \"$0\")\"\n"
			   "for table in");
	for (int t = 0; t < ROWS_TABLES; t++)
		text_addf(&script, " %s", tables[t].name);
	text_addf(&script, "; do\n"
			   "\t[ \"$(cat \"$table\"/part-* | head -c 1 | wc -c)\" -gt 0 ] ||\n"
			   "\t\tcontinue\n"
			   "\tcat \"$table\"/part-*.rowbinary |\n"
			   "\t\tclickhouse-client \"$@\" --insert_distributed_sync=1 \\\n"
			   "\t\t\t--max_insert_block_size=65536 \\\n"
			   "\t\t\t--query \"INSERT INTO $table FORMAT RowBinary\"\n"
			   "done\n");
	err = write_text(folder, "load.sh", &script);
	text_fini(&script);
	return err;
}

static int finish_clickhouse(const char *folder)
{
	int err = write_schema(folder);

	return err ? err : write_loader(folder);
}

const struct lake_format clickhouse_format = {
	.suffix = ".rowbinary",
	.put = put_rows,
	.finish = finish_clickhouse,
};

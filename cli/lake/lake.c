/*
 * Traces as a folder of tables
 *
 * 	TABLE/job=J/node=N/part-00000.parquet	part I: of the I-th trace
 *
 * Jobs and nodes are written as Hive has them, which most engines read as columns. The folder has a
 * temporary name until it is complete.
 *
 * Memory: ROWSET_ROWS rows of each table and node; if a trace has so many nodes that these rows
 * take too much memory, all rows are written earlier. Files are open only while they are written.
 */
#include "cli/lake/lake.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/tables/tables.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/sql/sql_functions.h"
#include "core/base/vec.h"
#include "core/store/read/listing.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

enum {
	NODE_MAX = 256,
	CELLS_MAX = 6 << 20, /* values in memory, of 9 bytes each */
	FREED_MOST =
		32 << 20, /* bytes of freed memory that the allocator holds for the next rows */
};

/* The values of the common columns for a process of the current trace. */
struct owner {
	int64_t rank;
	char *job, *node; /* NULL: not known */
	bool ranked;
	struct lake_file *files[ROWS_TABLES]; /* borrowed */
};

struct lake {
	const struct lake_format *format;
	const struct rows_columns *tables;
	struct folder folder;
	const char *trace;    /* its name, without folders */
	unsigned int part;    /* number of the part */
	struct owner *owners; /* by process; 0: for rows without a process */
	size_t nowners;
	struct lake_file **files;
	size_t nfiles;
	size_t cells;
	bool written[ROWS_TABLES];
};

void lake_write(struct lake_file *file, const void *bytes, size_t n)
{
	fwrite(bytes, 1, n, file->file);
	file->size += n;
}

static int close_file(struct lake_file *file, int err)
{
	bool failed = ferror(file->file);

	errno = 0;
	if ((fclose(file->file) || failed) && !err)
		err = log_err(errno ? -errno : -EIO, "write %s", file->path);
	file->file = NULL;
	return err;
}

static int open_file(struct lake *lake, struct lake_file *file)
{
	bool begins = !file->size;

	file->file = fopen(file->path, "ae");
	if (!file->file)
		return log_err(-errno, "write %s", file->path);
	if (begins && lake->format->begin)
		lake->format->begin(file);
	return 0;
}

/* Write the rows that are in memory. */
static int flush_file(struct lake *lake, struct lake_file *file)
{
	struct rowset *rowset = &file->rowset;
	int err;

	if (!rowset->rows)
		return 0;
	err = rowset_sort(rowset);
	if (err)
		return log_err(err, "write %s", file->path);
	err = open_file(lake, file);
	if (err)
		return err;
	err = lake->format->put(file);
	if (err)
		log_err(err, "write %s", file->path);
	file->rows += rowset->rows;
	lake->cells -= (size_t)rowset->rows * rowset->ncolumns;
	rowset_clear(rowset);
	return close_file(file, err);
}

static int end_file(struct lake *lake, struct lake_file *file)
{
	int err = flush_file(lake, file);

	if (!err)
		err = open_file(lake, file);
	if (err)
		return err;
	if (lake->format->end)
		err = lake->format->end(file);
	if (err)
		log_err(err, "write %s", file->path);
	return close_file(file, err);
}

static void free_file(struct lake_file *file)
{
	rowset_fini(&file->rowset);
	text_fini(&file->notes);
	free(file->path);
	free(file);
}

/* A value in a path: Hive writes other characters as %XX. */
static void add_key(struct text *path, const char *key, const char *value)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-.";

	text_addf(path, "/%s=", key);
	if (!value || !*value)
		text_addf(path, "__HIVE_DEFAULT_PARTITION__");
	for (; value && *value; value++)
		if (strchr(plain, *value))
			text_char(path, *value);
		else
			text_addf(path, "%%%02X", (unsigned char)*value);
}

/* Create the folders of a path, of which the first exists. */
static int make_folders(char *path, size_t existing)
{
	for (char *at = path + existing + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			return log_err(-errno, "write %s", path);
		*at = '/';
	}
	return 0;
}

static int name_file(struct lake *lake, struct lake_file *file, const struct owner *owner)
{
	size_t existing = strlen(lake->folder.path);
	struct text path = { 0 };

	text_addf(&path, "%s/%s", lake->folder.path, file->table->name);
	if (lake->format->paths) {
		add_key(&path, "job", owner->job);
		add_key(&path, "node", owner->node);
	}
	text_addf(&path, "/part-%05u%s", lake->part, lake->format->suffix);
	file->path = path.at;
	return path.failed ? log_err(-ENOMEM, "export") : make_folders(path.at, existing);
}

static int init_rows(struct rowset *rowset, const struct rows_columns *table)
{
	int err = rowset_init(rowset, table->columns, table->order);

	if (!err && table->classed)
		err = rowset_use_classes(rowset, table->classed, table->key_words);
	for (int i = 0; i < 2 && !err; i++)
		if (table->events[i].text)
			rowset_use_events(rowset, table->events[i].text, table->events[i].thread,
					  table->events[i].n);
	return err ? log_err(err, "export") : 0;
}

static int add_file(struct lake *lake, enum rows_table table, const struct owner *owner,
		    struct lake_file **ret_file)
{
	struct lake_file **slot = vec_push(lake->files, lake->nfiles), *file;
	int err;

	file = slot ? calloc(1, sizeof(*file)) : NULL;
	if (!file) {
		lake->nfiles -= !!slot;
		return log_err(-ENOMEM, "export");
	}
	*slot = file;
	file->table = &lake->tables[table];
	err = name_file(lake, file, owner);
	if (err)
		return err;
	lake->written[table] = true;
	*ret_file = file;
	return init_rows(&file->rowset, file->table);
}

static bool are_owners_equal(const struct lake *lake, const struct owner *a, const struct owner *b)
{
	const char *pairs[2][2] = { { a->job, b->job }, { a->node, b->node } };

	for (int i = 0; i < 2 && lake->format->paths; i++)
		if (strcmp(pairs[i][0] ? pairs[i][0] : "", pairs[i][1] ? pairs[i][1] : "") != 0)
			return false;
	return true;
}

/* The file of a process: all of one node and job share it. */
static int find_file(struct lake *lake, enum rows_table table, struct owner *owner)
{
	for (size_t i = 0; i < lake->nowners; i++)
		if (lake->owners[i].files[table] &&
		    are_owners_equal(lake, owner, &lake->owners[i])) {
			owner->files[table] = lake->owners[i].files[table];
			return 0;
		}
	return add_file(lake, table, owner, &owner->files[table]);
}

static struct owner *find_owner(struct lake *lake, uint32_t process)
{
	return &lake->owners[process < lake->nowners ? process : 0];
}

/* Fill the columns that have one value for all rows of a process. */
static void fill_owner(struct lake *lake, const uint32_t *processes, uint32_t n,
		       unsigned int column, struct cells *cells)
{
	switch (column) {
	case ROWS_TRACE:
		cells_texts(cells, n, i, lake->trace);
		break;
	case ROWS_JOB:
		cells_texts(cells, n, i, find_owner(lake, processes[i])->job);
		break;
	case ROWS_NODE:
		cells_texts(cells, n, i, find_owner(lake, processes[i])->node);
		break;
	default:
		cells_numbers_if(cells, n, i, find_owner(lake, processes[i])->ranked,
				 find_owner(lake, processes[i])->rank);
	}
}

static int flush_all_files(struct lake *lake)
{
	int err = 0;

	for (size_t i = 0; i < lake->nfiles && !err; i++)
		err = flush_file(lake, lake->files[i]);
	return err;
}

static void fill_column(struct lake *lake, const struct rows_block *block, uint32_t from,
			uint32_t n, unsigned int column, struct cells *cells)
{
	if (column < ROWS_BEFORE)
		fill_owner(lake, block->processes + from, n, column, cells);
	else
		block->fill(block->rows, from, n, (int)(column - ROWS_BEFORE), cells);
}

/* Set the columns of a new class from row @from. */
static int add_class(struct lake *lake, struct rowset *rowset, const struct rows_block *block,
		     uint32_t from)
{
	struct cells cells;
	int err = 0;

	for (unsigned int c = 0; c < rowset->ncolumns && !err; c++)
		if (rowset->columns[c].classes) {
			fill_column(lake, block, from, 1, c, &cells);
			err = rowset_put_class(rowset, c, &cells);
		}
	return err;
}

/* Add @n rows of the block, from @from on, column by column. */
static int add_rows(struct lake *lake, struct rowset *rowset, const struct rows_block *block,
		    uint32_t from, uint32_t n)
{
	struct cells cells;
	int err = 0;

	for (uint32_t i = 0; rowset->classes && i < n && err >= 0; i++) {
		err = rowset_classify(rowset, i, block->key(block->rows, from + i));
		if (err > 0)
			err = add_class(lake, rowset, block, from + i);
	}
	for (unsigned int c = 0; c < rowset->ncolumns && !err; c++) {
		if (rowset->columns[c].classes || rowset->columns[c].thread)
			continue;
		fill_column(lake, block, from, n, c, &cells);
		err = rowset_put(rowset, c, n, &cells);
	}
	if (err)
		return log_err(err, "export");
	rowset_end_rows(rowset, n);
	lake->cells += (size_t)n * rowset->ncolumns;
	return 0;
}

/* The file of row @i of the block. */
static int choose_file(struct lake *lake, const struct rows_block *block, uint32_t i,
		       struct lake_file **ret_file)
{
	struct owner *owner = find_owner(lake, block->processes[i]);
	int err = owner->files[block->table] ? 0 : find_file(lake, block->table, owner);

	*ret_file = owner->files[block->table];
	return err;
}

/* Add the rows from @from on that are of the same file, as many as the file has space for. */
static int add_rows_of_file(struct lake *lake, const struct rows_block *block, uint32_t from,
			    uint32_t *ret_n)
{
	struct lake_file *file, *next;
	int err = choose_file(lake, block, from, &file);
	uint32_t space = err ? 0 : ROWSET_ROWS - file->rowset.rows, n = 1;

	while (!err && n < space && from + n < block->n) {
		err = choose_file(lake, block, from + n, &next);
		if (next != file)
			break;
		n++;
	}
	*ret_n = n;
	if (!err)
		err = add_rows(lake, &file->rowset, block, from, n);
	return err ? err : n == space ? flush_file(lake, file) : 0;
}

static int distribute_rows(void *arg, const struct rows_block *block)
{
	struct lake *lake = arg;
	uint32_t n;
	int err = 0;

	for (uint32_t from = 0; from < block->n && !err; from += n)
		err = add_rows_of_file(lake, block, from, &n);
	return err ? err : lake->cells > CELLS_MAX ? flush_all_files(lake) : 0;
}

static char *copy_cell(const struct listing *listing, unsigned int column)
{
	const char *text = listing_text(listing, column);

	return text ? strdup(text) : NULL;
}

static int add_owner(struct lake *lake, const struct listing *listing)
{
	int64_t process = listing_integer(listing, 0);
	struct owner *owner = process > 0 && process < UINT32_MAX
				      ? vec_at(lake->owners, lake->nowners, (size_t)process)
				      : NULL;

	if (!owner)
		return log_err(-ENOMEM, "export");
	owner->ranked = listing_cell(listing, 1) == LISTING_INTEGER;
	owner->rank = listing_integer(listing, 1);
	owner->job = copy_cell(listing, 2);
	owner->node = copy_cell(listing, 3);
	return 0;
}

/* Read job and node of each process. Rows without a process go to the first process's file. */
static int read_owners(struct lake *lake, struct trace *trace)
{
	struct listing *listing;
	int err = listing_open_table(trace, "processes", "process, rank, job, node", &listing);
	int more = 1;

	if (!err && !vec_at(lake->owners, lake->nowners, 0))
		err = log_err(-ENOMEM, "export");
	while (!err && (more = listing_next(listing)) > 0)
		err = add_owner(lake, listing);
	listing_close(listing);
	if (!err && more >= 0 && lake->nowners > 1) {
		struct owner *none = &lake->owners[0], *first = &lake->owners[1];

		none->job = first->job ? strdup(first->job) : NULL;
		none->node = first->node ? strdup(first->node) : NULL;
	}
	return err ? err : more;
}

static void free_trace(struct lake *lake)
{
	for (size_t i = 0; i < lake->nfiles; i++)
		free_file(lake->files[i]);
	for (size_t i = 0; i < lake->nowners; i++) {
		free(lake->owners[i].job);
		free(lake->owners[i].node);
	}
	free(lake->files);
	free(lake->owners);
	lake->files = NULL;
	lake->owners = NULL;
	lake->nfiles = lake->nowners = lake->cells = 0;
}

/* At the end of the last trace: write a file, with the columns, also for a table without rows. */
static int add_empty_files(struct lake *lake)
{
	struct lake_file *file;
	int err = 0;

	for (int t = 0; t < ROWS_TABLES && !err; t++)
		if (!lake->written[t])
			err = add_file(lake, t, &lake->owners[0], &file);
	return err;
}

static int export_rows(struct lake *lake, struct trace *trace, bool last,
		       struct model_tables **ret_tables)
{
	struct rows_callback taker = { distribute_rows, lake };
	int err = rows_prepare(trace, ret_tables);

	if (!err)
		err = read_owners(lake, trace);
	if (!err)
		err = rows_read(trace, *ret_tables, &taker);
	if (!err && last)
		err = add_empty_files(lake);
	for (size_t i = 0; i < lake->nfiles && !err; i++)
		err = end_file(lake, lake->files[i]);
	return err;
}

static int export_trace(struct lake *lake, const char *path, bool last)
{
	const char *slash = strrchr(path, '/');
	struct model_tables *tables = NULL;
	struct sql_symbols *symbols = NULL;
	struct trace *trace;
	int err = cli_open_trace(path, &trace), status;

	if (err)
		return cli_status(err);
	lake->trace = slash ? slash + 1 : path;
	cli_show_progress("export", trace);
	cli_report_loss(trace);
	err = sql_symbols_add(trace, &symbols);
	if (!err)
		err = export_rows(lake, trace, last, &tables);
	status = err ? (int)cli_status(err) : CLI_FINE;
	trace_close(trace);
	sql_symbols_free(symbols);
	model_tables_free(tables);
	free_trace(lake);
	lake->part++;
	return status;
}

int lake_export(const struct lake_format *format, const struct arguments *arguments, const char *to)
{
	struct lake lake = { .format = format, .tables = rows_tables() };
	int status = CLI_FINE, err;

	mallopt(M_MMAP_THRESHOLD, FREED_MOST);
	mallopt(M_TRIM_THRESHOLD, FREED_MOST);
	if (!lake.tables)
		return cli_status(log_err(-ENOMEM, "export"));
	err = folder_make(&lake.folder, to);
	if (err)
		return cli_status(err);
	for (int i = 0; i < arguments->n && !status; i++)
		status = export_trace(&lake, arguments->at[i], i + 1 == arguments->n);
	if (!status && format->finish)
		status = cli_status(format->finish(lake.folder.path));
	if (!status)
		status = cli_status(folder_move_to(&lake.folder, to));
	folder_remove(&lake.folder);
	return status;
}

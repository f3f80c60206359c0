/*
 * A trace file with all tables and no rows, made without SQLite
 *
 * SQLite takes 7 million instructions to create the tables, one statement after the other, before
 * each recording. The file that results has little in it:
 *
 *	page 1		SQLite's header, then the root of the list of tables
 *	2, 3, ...	for each table, or index of a UNIQUE, one leaf without cells
 *	the rest	leaves of the list: a row for each of them, with its statement
 *
 * Numbers are big-endian: https://www.sqlite.org/fileformat.html, 1.3, 1.6, 2.1 and 2.6. SQLite
 * reads it as any other file; a unit test compares it with one that SQLite made.
 *
 * Not here: the tables (schema.c).
 */
#include "core/store/db/blank.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store/db/schema.h"

enum {
	PAGE = 4096,
	PAGES_MOST = 80,
	LEAVES_MOST = 8,
	HEADER = 100,      /* of the file, in page 1 */
	LEAF_HEADER = 8,   /* of a page of a tree, */
	INNER_HEADER = 12, /* with the last child */
	ROW_MOST = 1024,

	TABLE_INNER = 5,
	TABLE_LEAF = 13,
	INDEX_LEAF = 10,
};

struct blank {
	uint8_t *file;
	uint32_t roots, pages;      /* of tables and indexes; in use */
	uint8_t *leaf;              /* of the list of tables, being filled; NULL: none */
	uint32_t cells, end;        /* its own */
	uint32_t rows, leaves;      /* of the list */
	uint32_t last[LEAVES_MOST]; /* the last row of each leaf */
};

static uint8_t *put_number(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
	return at + bytes;
}

/* Below 2^14: more than any that occurs. */
static uint8_t *put_varint(uint8_t *at, uint32_t value)
{
	if (value >= 128)
		*at++ = (uint8_t)(value >> 7 | 128);
	*at++ = value & 127;
	return at;
}

static uint8_t *put_text(uint8_t *at, const char *text, size_t n)
{
	memcpy(at, text, n);
	return at + n;
}

/* A row of the list of tables, as a cell: sizes, types of the columns, columns. Returns its end. */
static uint8_t *make_row(uint8_t *cell, uint32_t row, const char *kind, const char *name,
			 const char *table, uint32_t root, const char *sql)
{
	uint32_t sizes[] = { (uint32_t)strlen(kind), (uint32_t)strlen(name),
			     (uint32_t)strlen(table), (uint32_t)strlen(sql) };
	uint8_t types[16], *type = types + 1;
	size_t ntypes;

	for (int i = 0; i < 3; i++)
		type = put_varint(type, 13 + 2 * sizes[i]);
	type = put_varint(type, 2); /* an integer of two bytes */
	type = put_varint(type, sizes[3] ? 13 + 2 * sizes[3] : 0);
	ntypes = (size_t)(type - types);
	types[0] = (uint8_t)ntypes;
	cell = put_varint(cell, (uint32_t)ntypes + sizes[0] + sizes[1] + sizes[2] + 2 + sizes[3]);
	cell = put_varint(cell, row);
	cell = put_text(cell, (const char *)types, ntypes);
	cell = put_text(cell, kind, sizes[0]);
	cell = put_text(cell, name, sizes[1]);
	cell = put_text(cell, table, sizes[2]);
	cell = put_number(cell, root, 2);
	return put_text(cell, sql, sizes[3]);
}

static uint8_t *page_at(struct blank *b, uint32_t number)
{
	return b->file + (size_t)(number - 1) * PAGE;
}

static void put_tree_header(uint8_t *at, int kind, uint32_t cells, uint32_t end)
{
	at[0] = (uint8_t)kind;
	put_number(at + 3, cells, 2);
	put_number(at + 5, end, 2);
}

static void close_leaf(struct blank *b)
{
	put_tree_header(b->leaf, TABLE_LEAF, b->cells, b->end);
	b->last[b->leaves++] = b->rows;
	b->leaf = NULL;
}

/* Cells are stored from the end of a page, and listed after its header. */
static void add_row(struct blank *b, const char *kind, const char *name, const char *table,
		    uint32_t root, const char *sql)
{
	uint8_t cell[ROW_MOST];
	uint32_t n = (uint32_t)(make_row(cell, b->rows + 1, kind, name, table, root, sql) - cell);

	if (b->leaf && LEAF_HEADER + 2 * (b->cells + 1) + n > b->end)
		close_leaf(b);
	if (!b->leaf) {
		b->leaf = page_at(b, 2 + b->roots + b->leaves);
		b->cells = 0;
		b->end = PAGE;
	}
	b->end -= n;
	memcpy(b->leaf + b->end, cell, n);
	put_number(b->leaf + LEAF_HEADER + (size_t)2 * b->cells++, b->end, 2);
	b->rows++;
}

static void add_root(struct blank *b, int kind)
{
	put_tree_header(page_at(b, ++b->pages), kind, 0, PAGE);
}

static bool is_unique(const char *declaration)
{
	return strstr(declaration, " UNIQUE");
}

static void add_table(struct blank *b, const char *declaration)
{
	char name[32], unique[64], sql[ROW_MOST];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(declaration, "("), declaration);
	snprintf(sql, sizeof(sql), "CREATE TABLE %s", declaration);
	add_root(b, strstr(declaration, " WITHOUT ROWID") ? INDEX_LEAF : TABLE_LEAF);
	add_row(b, "table", name, name, b->pages, sql);
	if (!is_unique(declaration))
		return;
	snprintf(unique, sizeof(unique), "sqlite_autoindex_%s_1", name);
	add_root(b, INDEX_LEAF);
	add_row(b, "index", unique, name, b->pages, "");
}

/* The root has a cell for each leaf, its page and last row; except for the last leaf. */
static void add_first(struct blank *b)
{
	uint8_t *at = b->file + HEADER;
	uint32_t end = PAGE, cells = b->leaves - 1;

	for (uint32_t i = 0; i < cells; i++) {
		uint8_t cell[8];
		size_t n = (size_t)(put_varint(put_number(cell, 2 + b->roots + i, 4), b->last[i]) -
				    cell);

		end -= (uint32_t)n;
		memcpy(b->file + end, cell, n);
		put_number(at + INNER_HEADER + (size_t)2 * i, end, 2);
	}
	put_tree_header(at, TABLE_INNER, cells, end);
	put_number(at + 8, 1 + b->roots + b->leaves, 4);
}

static void add_header(struct blank *b)
{
	uint8_t *at = b->file;

	memcpy(at, "SQLite format 3", 16);
	put_number(at + 16, PAGE, 2);
	at[18] = at[19] = 1;              /* a journal: the log begins later */
	put_number(at + 21, 0x402020, 3); /* the format has no others */
	put_number(at + 24, 1, 4);        /* change counter */
	put_number(at + 28, b->pages, 4);
	put_number(at + 40, 1, 4); /* changes of the schema */
	put_number(at + 44, 4, 4); /* format of the schema */
	put_number(at + 56, 1, 4); /* UTF-8 */
	put_number(at + 60, SCHEMA_VERSION, 4);
	put_number(at + 68, SCHEMA_APPLICATION, 4);
	put_number(at + 92, 1, 4); /* the change counter, when this version wrote the size: */
	put_number(at + 96, SQLITE_VERSION_NUMBER, 4);
}

static void fill_file(struct blank *b)
{
	for (int i = 0; schema_table(i); i++)
		b->roots += is_unique(schema_table(i)) ? 2 : 1;
	b->pages = 1;
	for (int i = 0; schema_table(i); i++)
		add_table(b, schema_table(i));
	close_leaf(b);
	b->pages += b->leaves;
	add_first(b);
	add_header(b);
}

static int write_all(int fd, const uint8_t *file, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, file + done, bytes - done, (off_t)done);

		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int blank_write(int fd)
{
	struct blank b = { .file = calloc(PAGES_MOST, PAGE) };
	int err;

	if (!b.file)
		return -ENOMEM;
	fill_file(&b);
	err = write_all(fd, b.file, (size_t)b.pages * PAGE);
	free(b.file);
	return err;
}

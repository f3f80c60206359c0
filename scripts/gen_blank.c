/*
 * Prints a trace without rows, as SQLite makes it, for core/store/db/blank.c
 *
 *	BLANK_BYTES		the size of the file
 *	blank_bytes		what is not zero in it, piece by piece
 *	blank_pieces		the place and size of each piece
 */
#include <stdio.h>

#include "core/store/db/schema.h"

enum { ZEROS = 16 /* that end a piece */ };

/* The end of the piece that begins at @at: a byte that so many zeros follow, or the end. */
static size_t find_end(const unsigned char *file, size_t at, size_t n)
{
	size_t end = at;

	for (; at < n && at - end < ZEROS; at++)
		if (file[at])
			end = at + 1;
	return end;
}

static size_t find_begin(const unsigned char *file, size_t at, size_t n)
{
	while (at < n && !file[at])
		at++;
	return at;
}

static void print_file(const unsigned char *file, size_t n)
{
	size_t end;

	printf("enum { BLANK_BYTES = %zu };\n\nstatic const unsigned char blank_bytes[] = {", n);
	for (size_t at = find_begin(file, 0, n); at < n; at = find_begin(file, end, n)) {
		end = find_end(file, at, n);
		for (size_t i = at; i < end; i++)
			printf("%s%u,", i % 16 ? " " : "\n\t", file[i]);
	}
	printf("\n};\n\nstatic const struct blank_piece blank_pieces[] = {\n");
	for (size_t at = find_begin(file, 0, n); at < n; at = find_begin(file, end, n)) {
		end = find_end(file, at, n);
		printf("\t{ %zu, %zu },\n", at, end - at);
	}
	printf("};\n");
}

int main(void)
{
	unsigned char *file = NULL;
	sqlite3_int64 n = 0;
	sqlite3 *db;

	if (!sqlite3_open(":memory:", &db) && !schema_create(db))
		file = sqlite3_serialize(db, "main", &n, 0);
	if (!file) {
		fprintf(stderr, "gen_blank: %s\n", sqlite3_errmsg(db));
		return 1;
	}
	print_file(file, (size_t)n);
	sqlite3_free(file);
	sqlite3_close(db);
	return 0;
}

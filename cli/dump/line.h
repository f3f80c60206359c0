#pragma once
/*
 * A line of a dump, cut to the width of a terminal. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All zero: lines are not cut, and printed directly. */
struct line {
	int columns; /* 0: not cut */
	FILE *kept;  /* the real output, while a line is collected */
	char *text;
	size_t size;
};

/* The file to print the next line to; never NULL. */
FILE *line_begin(struct line *line);

/* End the line, which was printed without its newline. */
void line_end(struct line *line);
void line_fini(struct line *line);

/*
 * The bytes of @text, a line, that fit into @columns: its first *@ret_head and its last *@ret_tail,
 * with "..." between them. The result of a call is at the end, and is shown if there is room.
 * Returns false if everything fits.
 */
bool line_cut(const char *text, size_t n, int columns, size_t *ret_head, size_t *ret_tail);

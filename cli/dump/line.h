#pragma once
/*
 * A line of a dump, cut to the width of a terminal. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Zeroed it is not cut, and printed as it comes. */
struct line {
	int columns; /* 0: not cut */
	FILE *kept;  /* where it is printed to meanwhile */
	char *text;
	size_t size;
};

/* Where the next line is to be printed to; never NULL. */
FILE *line_begin(struct line *line);

/* It is complete, without its newline. */
void line_end(struct line *line);
void line_fini(struct line *line);

/*
 * The bytes of @text, a line, that are shown in @columns: its first *@ret_head and its last
 * *@ret_tail, with "..." between them. What a call has returned is at the end, and stays if there
 * is room. Returns false if all are.
 */
bool line_cut(const char *text, size_t n, int columns, size_t *ret_head, size_t *ret_tail);

#pragma once
/*
 * The last filter of what is written for people to read.
 *
 * Code that prints foreign text makes it printable (core/base/printable.h), so that it is one
 * line and can be read back. This catches what was forgotten: except the ends of
 * lines, and the styles below where they are on, no byte is written that a terminal obeys. One
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A stream to descriptor @fd, buffered like standard output; NULL if memory runs out. */
FILE *screen_open(int fd);

/* How many columns the terminal @fd has; 0: it is none, or does not say. */
int screen_columns(int fd);

/* Write @n bytes of lines to @fd at once where it takes them. Returns 0 or -errno. */
int screen_write(int fd, const char *text, size_t n);

/* What the terminal may be told, as ECMA-48 has it (SGR). */
enum screen_style {
	SCREEN_PLAIN, /* ends each of the others */
	SCREEN_BOLD,
	SCREEN_DIM,
	SCREEN_RED,
	SCREEN_YELLOW,
	SCREEN_STYLES,
};

/* --color */
enum screen_colour { SCREEN_AUTO, SCREEN_ALWAYS, SCREEN_NEVER };

/*
 * From now on styles are written, or not. SCREEN_AUTO: if standard output is a terminal, unless
 * NO_COLOR is set and not empty, or the terminal is dumb. Until then they are not.
 */
void screen_use_colour(enum screen_colour colour);

/* Begin a style in what goes to standard output; nothing where styles are not written. */
void screen_style(FILE *out, enum screen_style style);

/* The bytes of the style that @text begins with, where they are written; 0: there is none. */
size_t screen_style_length(const char *text, size_t n);

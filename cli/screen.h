#pragma once
/*
 * The last filter of output for people.
 *
 * Code that prints foreign text makes it printable (core/base/printable.h), so that it is one line
 * and unambiguous. This filter is a safety net: it passes ends of lines, and the styles below if
 * they are enabled, but no other control characters. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A stream to descriptor @fd, buffered like standard output; NULL if memory runs out. */
FILE *screen_open(int fd);

/* The width of terminal @fd; 0: it is not a terminal, or the width is not known. */
int screen_columns(int fd);

/* Write @n bytes of lines to @fd, in one call if possible. Returns 0 or -errno. */
int screen_write(int fd, const char *text, size_t n);

/* The styles of the terminal, as ECMA-48 defines them (SGR). */
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
 * Enable or disable styles. SCREEN_AUTO: enable them if standard output is a terminal, unless
 * NO_COLOR is set and not empty, or the terminal is dumb. They are disabled at first.
 */
void screen_use_colour(enum screen_colour colour);

/* Begin a style in output for standard output; nothing if styles are disabled. */
void screen_style(FILE *out, enum screen_style style);

/* The length of the style that @text begins with, if styles are enabled; 0: there is none. */
size_t screen_style_length(const char *text, size_t n);

#pragma once
/*
 * The last filter of output for people.
 *
 * Code that prints foreign text makes it printable (core/base/printable.h), so that it is one line
 * and unambiguous. This filter is a safety net: it passes ends of lines, and the styles of
 * core/base/style.h if they are enabled, but no other control characters. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A stream to descriptor @fd, buffered like standard output; NULL if memory runs out. */
FILE *screen_open(int fd);

/*
 * From now on, hold back what is written to terminal @fd, by all screens together, until it is
 * longer than the terminal: then call @overflow and write all of it. Shorter output is written when
 * the stream is closed. @overflow NULL: write the held output, and hold back no more.
 */
void screen_hold(int fd, void (*overflow)(void));

/* Write what is held, from the handler of a signal that ends the process. Async-signal-safe. */
void screen_end_by_signal(void);

/* The width of terminal @fd; 0: it is not a terminal, or the width is not known. */
int screen_columns(int fd);

/* Write @n bytes of lines to @fd, in one call if possible. Returns 0 or -errno. */
int screen_write(int fd, const char *text, size_t n);

/* --color */
enum screen_colour { SCREEN_AUTO, SCREEN_ALWAYS, SCREEN_NEVER };

/*
 * Enable or disable styles. SCREEN_AUTO: enable them if standard output is a terminal and no dumb
 * one; never with NO_COLOR, else always with CLICOLOR_FORCE (https://bixense.com/clicolors). They
 * are disabled at first.
 */
void screen_use_colour(enum screen_colour colour);

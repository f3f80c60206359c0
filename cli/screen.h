#pragma once
/*
 * The last filter of what is written for people to read.
 *
 * Code that prints foreign text makes it printable (core/base/printable.h), so that it is one
 * line and can be read back. This catches what was forgotten: except the ends of
 * lines, no byte is written that a terminal obeys. One thread.
 */
#include <stddef.h>
#include <stdio.h>

/* A stream to descriptor @fd, buffered like standard output; NULL if memory runs out. */
FILE *screen_open(int fd);

/* How many columns the terminal @fd has; 0: it is none, or does not say. */
int screen_columns(int fd);

/* Write @n bytes of lines to @fd at once where it takes them. Returns 0 or -errno. */
int screen_write(int fd, const char *text, size_t n);

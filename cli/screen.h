#pragma once
/*
 * The last look at what is written for people to read.
 *
 * Who prints text of others makes it printable (core/base/printable.h), so that
 * it is one line and can be read back. What was forgotten is caught here: no
 * byte goes out that a terminal obeys, but the ends of lines. One thread.
 */
#include <stddef.h>
#include <stdio.h>

/* A stream to descriptor @fd, in the manner of standard output; NULL without memory. */
FILE *screen_open(int fd);

/* Write @n bytes of lines to @fd at once where it takes them. Returns 0 or -errno. */
int screen_write(int fd, const char *text, size_t n);

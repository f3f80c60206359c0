#pragma once
/*
 * Formatting counts. Any thread.
 */
#include <stdint.h>

enum { COUNT_TEXT = 32 };

/* @n in decimal, with commas: "12,345". Returns @text. */
const char *count_text(uint64_t n, char text[COUNT_TEXT]);

/* As count_text(), in memory that is valid until the end of the enclosing block. */
#define COUNT_OF(n) count_text(n, (char[COUNT_TEXT]){ "" })

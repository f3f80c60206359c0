#pragma once
/*
 * Formatting counts. Any thread.
 */
#include <stdint.h>

enum { COUNT_TEXT = 32 };

/* 12,345 */
const char *count_text(uint64_t n, char text[COUNT_TEXT]);

/* The same, valid until the end of the block. */
#define COUNT_OF(n) count_text(n, (char[COUNT_TEXT]){ "" })

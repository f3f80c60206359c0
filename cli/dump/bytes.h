#pragma once
/*
 * Payloads as text. Not thread-safe.
 */
#include <stdio.h>

#include "core/store/read/trace.h"

/* "4096 bytes, hash 9a3f...", with the reason if less was stored than requested. */
void bytes_print_short(FILE *out, const struct payload *payload);

/* The first @max bytes, 16 a line, each line after @indent. */
void bytes_print_dump(FILE *out, const struct payload *payload, uint64_t max, const char *indent);

#pragma once
/*
 * Sizes and times as people write them. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum { QUANTITY_TEXT = 32 };

/*
 * "490ms", "1.5s", "63.4 ms", "5m", "6h", "1d", "250us", "10ns" in ns. A number without a unit is
 * in seconds if @seconds, else rejected. False: not a time, or too long for 64 bits.
 */
bool quantity_time(const char *text, bool seconds, int64_t *ret_ns);

/* A whole number without sign. False: not a number, or more than @most. */
bool quantity_number(const char *text, uint64_t most, uint64_t *ret_number);

/* "256k", "1G": in the largest unit that divides it. Each writes into @text and returns it. */
const char *quantity_size_text(uint64_t bytes, char text[QUANTITY_TEXT]);
const char *quantity_time_text(int64_t ns, char text[QUANTITY_TEXT]);

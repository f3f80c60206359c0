#pragma once
/* The clock of a replay, and waiting by it. */
#include <stdbool.h>
#include <stdint.h>

/* Monotonic clock, ns. */
int64_t pace_now(void);

/* Wait a moment, from nothing up to 50 us the more often it was called; false after @deadline. */
bool pace_wait(unsigned int *turns, int64_t deadline);

void pace_sleep_until(int64_t due);

/* Call @tell(@arg) now and then while one of the two waits, NULL: no more. A trace can make it long. */
void pace_on_wait(void (*tell)(void *arg), void *arg);

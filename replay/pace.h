#pragma once
/* The clock of a replay, and waiting by it. */
#include <stdbool.h>
#include <stdint.h>

/* Monotonic clock, ns. */
int64_t pace_now(void);

/* Wait briefly, longer with each of @turns, up to 50 us. Returns false after @deadline. */
bool pace_wait(unsigned int *turns, int64_t deadline);

void pace_sleep_until(int64_t due);

/*
 * Call @tell(@arg) from time to time while one of the two waits, which a trace can make long; NULL
 * ends that.
 */
void pace_on_wait(void (*tell)(void *arg), void *arg);

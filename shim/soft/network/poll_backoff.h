#pragma once
/*
 * How long the thread of the wire leaves the sockets to the program's empty polls.
 *
 * A program that polls receives its packets itself, and a thread that woke for each of them would
 * take its processor. But a program that waits in another way, such as for a write in its memory,
 * needs the thread at once. Pure functions.
 */
#include <stdbool.h>
#include <stdint.h>

struct poll_backoff {
	uint32_t polls; /* empty polls until the last look */
	uint64_t ns;    /* until the next; 0: the program did not poll, and the thread watches */
};

/*
 * The thread looks whether the program has polled: @polls empty polls until now, modulo 2^32. Sets
 * @look->ns: the longer the program has polled without a pause, the longer.
 */
void poll_backoff_update(struct poll_backoff *look, uint32_t polls);

/*
 * How long the thread of the wire leaves the sockets to the program's empty polls
 *
 * The thread stops watching after ENTER_POLLS empty polls between two looks. From then on a program
 * that polls must have polled once in each NS_A_POLL at least, and the time to the next look
 * doubles from FIRST_NS to LAST_NS.
 */
#include "shim/soft/network/poll_backoff.h"

enum {
	ENTER_POLLS = 100,
	FIRST_NS = 50000, /* ns */
	LAST_NS = 200000,
	NS_A_POLL = 10000,
};

void poll_backoff_update(struct poll_backoff *look, uint32_t polls)
{
	uint64_t needed = look->ns ? look->ns / NS_A_POLL : ENTER_POLLS;
	bool often = polls - look->polls >= needed;

	look->polls = polls;
	if (!often)
		look->ns = 0;
	else if (!look->ns)
		look->ns = FIRST_NS;
	else
		look->ns = look->ns * 2 < LAST_NS ? look->ns * 2 : LAST_NS;
}

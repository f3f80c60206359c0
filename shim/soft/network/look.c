/*
 * How long the thread of the wire leaves the sockets to the program's empty polls
 *
 * The thread stops watching after ENTER empty polls between two looks. From then on a program that
 * polls must have polled once in each NS_A_POLL at least, and the time to the next look doubles
 * from FIRST to LAST.
 */
#include "shim/soft/network/look.h"

enum {
	ENTER = 100,
	FIRST = 50000, /* ns */
	LAST = 200000,
	NS_A_POLL = 10000,
};

void look_again(struct look *look, uint32_t polls)
{
	uint64_t needed = look->ns ? look->ns / NS_A_POLL : ENTER;
	bool often = polls - look->polls >= needed;

	look->polls = polls;
	if (!often)
		look->ns = 0;
	else if (!look->ns)
		look->ns = FIRST;
	else
		look->ns = look->ns * 2 < LAST ? look->ns * 2 : LAST;
}

/*
 * Packet pacing
 *
 * Each request occupies the queue for the time of its bytes at the rate limit. The next request is
 * sent after that time, or earlier by the time of a burst. Idle time is not credited.
 */
#include "shim/soft/transport/pace.h"

#include "shim/soft/fabric/process.h"

static uint64_t time_of(const struct soft_sq *sq, uint32_t length)
{
	return length * 8000000ull / sq->rate; /* ns */
}

void pace_set(struct soft_sq *sq, uint32_t rate, uint32_t burst)
{
	sq->rate = rate;
	sq->burst = burst;
	sq->paced = 0;
	if (sq->wait == WAIT_HELD)
		sq->wait_until = 0; /* retry at once */
}

bool pace_holds(struct soft_sq *sq)
{
	uint64_t early = time_of(sq, sq->burst);

	if (process_now() + early >= sq->paced)
		return false;
	sq->wait = WAIT_HELD;
	sq->wait_until = sq->paced - early;
	return true;
}

void pace_note_sent(struct soft_sq *sq, uint32_t length)
{
	uint64_t now = process_now();

	sq->paced = (sq->paced > now ? sq->paced : now) + time_of(sq, length);
}

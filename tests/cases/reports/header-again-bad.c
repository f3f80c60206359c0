/*
 * Small messages are built in one place, since they are copied when they are posted.
 *
 * Bad: IBV_SEND_INLINE is missing. GOOD: it is set.
 */
#include "rep.h"

int main(void)
{
	enum { MESSAGES = 12, SIZE = 32 };
	struct cfg c = cfg_usual();
	int flags = IBV_SEND_SIGNALED;
	struct ibv_wc wc;
	struct end e;

#ifdef GOOD
	flags |= IBV_SEND_INLINE;
#endif
	c.inline_max = 64;
	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; e.server && i < MESSAGES; i++)
		need(!recv_post(&e, i, i * SIZE, SIZE));
	end_sync(&e);
	for (int i = 0; !e.server && i < MESSAGES; i++) {
		memset(e.mem, i, SIZE);
		need(!send_post(&e, i, 0, SIZE, flags));
	}
	for (int i = 0; i < MESSAGES; i++)
		need(wait_wc(e.server ? e.rcq : e.scq, &wc, 5000) && !wc.status);
	end_sync(&e);
	return end_close(&e, 0);
}

/*
 * A client may send sixteen messages before the first answer. The server is busy at first.
 *
 * Bad: the server has posted eight receives. GOOD: sixteen.
 */
#include "rep.h"

#ifdef GOOD
#define RECEIVES 16
#else
#define RECEIVES 8
#endif
enum { CREDITS = 16, SIZE = 256 };

static int send_all(struct end *e)
{
	struct ibv_wc wc;

	for (int i = 0; i < CREDITS; i++)
		need(!send_post(e, (uint64_t)i, SIZE * (size_t)i, SIZE, IBV_SEND_SIGNALED));
	for (int i = 0; i < CREDITS; i++)
		if (!wait_wc(e->scq, &wc, 1000) || wc.status) {
			fprintf(stderr, "message %d: %s\n", i, ibv_wc_status_str(wc.status));
			return 1;
		}
	return 0;
}

static void receive_all(struct end *e)
{
	struct ibv_wc wc;

	nap(300);
	for (int i = 0; i < CREDITS && wait_wc(e->rcq, &wc, 100); i++)
		need(!recv_post(e, wc.wr_id, SIZE * wc.wr_id, SIZE));
}

int main(void)
{
	struct end e;
	int rc = 0;

	two_ends(&e);
	struct cfg c = cfg_usual();
	c.sq = c.rq = c.cqe = 32;
	c.rnr_retry = 3;
	end_open(&e, c, 65536);
	if (e.server)
		for (int i = 0; i < RECEIVES; i++)
			need(!recv_post(&e, (uint64_t)i, SIZE * (size_t)i, SIZE));
	end_connect(&e);
	if (e.server)
		receive_all(&e);
	else
		rc = send_all(&e);
	end_sync(&e);
	return end_close(&e, rc);
}

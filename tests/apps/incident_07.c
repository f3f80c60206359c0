/*
 * A pool lends buffers to senders and gets them back with the completions; a connection that is
 * lost is destroyed before these have come, until the pool is empty (ceph#18053).
 */
#include "tests/apps/ends.h"

enum { POOL = 6, BURST = 2 };

static int pool = POOL;

static bool send_burst(void)
{
	if (pool < BURST)
		return false;
	for (uint64_t i = 0; i < BURST; i++, pool--)
		MUST(ends_send(i, IBV_WR_SEND, IBV_SEND_SIGNALED));
	return true;
}

static void lose_connection(bool good)
{
	to_err(ends.qp[0]);
	if (good) {
		ends_await(0, BURST);
		pool += BURST;
	}
	for (int i = 0; i < 2; i++)
		MUST(ibv_destroy_qp(ends.qp[i]));
}

static void connect_again(void)
{
	for (int i = 0; i < 2; i++)
		ends.qp[i] = ends_create(i);
	ends_connect();
}

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv), sent = true;

	ends_open();
	for (int i = 0; i < 4 && sent; i++) {
		sent = send_burst(); /* the peer never posts a receive: they wait */
		lose_connection(good);
		connect_again();
	}
	ends_close();
	return good ? !sent : 0;
}

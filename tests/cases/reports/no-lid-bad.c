/*
 * The port's number comes from the configuration of another machine: ibv_query_port() fails, its
 * result is not read, and the LID that is sent to the other end is 0.
 */
#include "rep.h"

#ifndef PORT
#define PORT 2
#endif

int main(void)
{
	struct ibv_port_attr port = { 0 };
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.timeout = 8;
	c.retry = 2;
	end_open(&e, c, 8192);
	ibv_query_port(e.ctx, PORT, &port);
	e.own.lid = port.lid;
	if (recv_post(&e, 1, 0, 64))
		return 1;
	end_connect(&e);
	if (!e.server && !send_post(&e, 9, 64, 64, IBV_SEND_SIGNALED) && wait_wc(e.scq, &wc, 5000))
		fprintf(stderr, "%s\n", ibv_wc_status_str(wc.status));
	end_sync(&e);
	return end_close(&e, 0);
}

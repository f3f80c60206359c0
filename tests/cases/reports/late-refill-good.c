/*
 * A client sends twelve messages.
 */
#include "rep.h"

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.sig_all = true;
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; i < 12 && e.server; i++)
		need(!recv_post(&e, i, i * 64, 64));
	end_sync(&e);
	for (int i = 0; i < 12 && !e.server; i++)
		need(!send_post(&e, i, i * 64, 64, 0));
	for (int i = 0; i < 12; i++)
		need(wait_wc(e.server ? e.rcq : e.scq, &wc, 9000));
	end_sync(&e);
	return end_close(&e, 0);
}

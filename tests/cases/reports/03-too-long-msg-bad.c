/*
 * One message of 1 MiB + 4 on a port whose max_msg_sz is 1 MiB (see the .persona). [gloo#474] GOOD:
 * in pieces
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct ibv_wc wc;
	size_t n = (1 << 20) + 4;
	int rc = 0;
	two_ends(&e);
	end_open(&e, cfg_usual(), 2 << 20);
	need(!recv_post(&e, 1, 0, n));
	need(!recv_post(&e, 2, 1 << 20, 1 << 20));
	end_connect(&e);
	if (!e.server) {
#ifdef GOOD
		need(!send_post(&e, 10, 0, 1 << 20, IBV_SEND_SIGNALED));
		need(!send_post(&e, 11, 1 << 20, 4, IBV_SEND_SIGNALED));
		rc |= !wait_wc(e.scq, &wc, 2000) || wc.status;
#else
		need(!send_post(&e, 10, 0, n, IBV_SEND_SIGNALED));
#endif
		rc |= !wait_wc(e.scq, &wc, 2000) || wc.status;
		if (rc)
			fprintf(stderr, "send: %s\n", ibv_wc_status_str(wc.status));
	} else {
		rc |= !wait_wc(e.scq, &wc, 1500) || wc.status;
		if (rc)
			fprintf(stderr, "recv: failed\n");
	}
	end_sync(&e);
	return end_close(&e, rc);
}

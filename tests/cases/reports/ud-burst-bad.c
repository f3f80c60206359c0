/*
 * A burst of datagrams is twice as long as the receives that are posted for it, and all arrive only
 * because the network waits. GOOD: a burst of as many datagrams as receives.
 */
#include "rep.h"
#include "ud.h"

enum { BURST = 12 };

static void post_datagram(struct ud *u, uint32_t number)
{
	struct ibv_sge sge = { (uintptr_t)u->mem + UD_SIZE - UD_SLOT, 64, u->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED,
					.wr.ud = { u->ah, number, UD_QKEY } };

	need(!ibv_post_send(u->qp, &wr, &bad));
}

static void take(struct ud *u, int n)
{
	for (int i = 0; i < n; i++)
		ud_poll(u);
}

int main(void)
{
	struct ibv_wc wc;
	struct ud a, b;
	int receives = BURST / 2;

#ifdef GOOD
	receives = BURST;
#endif
	ud_open(&a);
	ud_open(&b);
	ud_receive(&b, receives);
	for (int i = 0; i < BURST; i++)
		post_datagram(&a, b.qp->qp_num);
	take(&b, receives);
	if (receives < BURST)
		ud_receive(&b, BURST - receives);
	take(&b, BURST - receives);
	for (int i = 0; i < BURST; i++)
		need(wait_wc(a.scq, &wc, 5000) && !wc.status);
	ud_close(&a);
	ud_close(&b);
	return 0;
}

/*
 * A receiver returns a credit for each message, and the sender, which has as many credits as there
 * are receives, sends the next one.
 *
 * Bad: the credit leaves before the receive is posted again. GOOD: after it.
 */
#include "rep.h"

enum { MESSAGES = 60, WINDOW = 4, SIZE = 256, CREDITS = 4096, ROOM = 16 };

struct ends {
	struct end e;
	int received; /* messages, or credits */
	int sent;     /* the other ones, that have completed */
};

static void give_credit(struct end *e, int n)
{
	int *credit = (int *)(e->mem + CREDITS);

	*credit = n;
	need(!send_post(e, 99, CREDITS, sizeof(*credit), IBV_SEND_SIGNALED | IBV_SEND_INLINE));
}

static void handle(struct ends *ends, const struct ibv_wc *wc)
{
	struct end *e = &ends->e;

	need(!wc->status);
	if (!(wc->opcode & IBV_WC_RECV)) {
		ends->sent++;
		return;
	}
	ends->received++;
#ifdef GOOD
	need(!recv_post(e, wc->wr_id, wc->wr_id * SIZE, SIZE));
	give_credit(e, ends->received);
#else
	give_credit(e, ends->received);
	need(!recv_post(e, wc->wr_id, wc->wr_id * SIZE, SIZE));
#endif
}

static void receive(struct ends *ends)
{
	struct ibv_wc wc;

	while (ends->received < MESSAGES || ends->sent < MESSAGES) {
		need(wait_wc(ends->e.rcq, &wc, 5000));
		handle(ends, &wc);
	}
}

static void take_credit(struct ends *ends, const struct ibv_wc *wc)
{
	need(!wc->status);
	if (!(wc->opcode & IBV_WC_RECV)) {
		ends->sent++;
		return;
	}
	ends->received++;
	need(!recv_post(&ends->e, wc->wr_id, CREDITS + wc->wr_id * 8, 8));
}

static void send_all(struct ends *ends)
{
	struct ibv_wc wc;

	for (int sent = 0; ends->received < MESSAGES || ends->sent < MESSAGES;) {
		while (sent < MESSAGES && sent < ends->received + WINDOW)
			need(!send_post(&ends->e, 99, sent++ % WINDOW * SIZE, SIZE,
					IBV_SEND_SIGNALED));
		need(wait_wc(ends->e.scq, &wc, 5000));
		take_credit(ends, &wc);
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ends ends = { .received = 0 };
	struct end *e = &ends.e;

	c.inline_max = 16;
	two_ends(e);
	end_open(e, c, 8192);
	for (int i = 0; i < (e->server ? WINDOW : ROOM); i++)
		need(!recv_post(e, i, e->server ? i * SIZE : CREDITS + i * 8,
				e->server ? SIZE : 8));
	end_connect(e);
	(e->server ? receive : send_all)(&ends);
	end_sync(e);
	return end_close(e, 0);
}

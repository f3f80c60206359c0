/*
 * Two ends send to each other, each as many messages as it has credits: one for each message that
 * the other end has handled. Credits travel with messages, or alone when half of them are owed.
 *
 * Bad: an end that has no credit sends none either, so both wait for each other, until they give up
 * and connect again. GOOD: a message that only brings credits needs none.
 */
#include "rep.h"

enum { MESSAGES = 6, WINDOW = 4, SIZE = 256, PATIENCE_MS = 400 };

struct flow {
	struct end e;
	int credits, owed, received, sent, completed, data;
};

static void send_message(struct flow *f, bool data)
{
	char *message = f->e.mem + 4096 + f->sent % (4 * WINDOW) * SIZE;

	message[0] = f->owed;
	message[1] = data;
	f->owed = 0;
	f->sent++;
	need(!send_post(&f->e, 99, message - f->e.mem, SIZE, IBV_SEND_SIGNALED));
}

static void handle(struct flow *f, const struct ibv_wc *wc)
{
	const char *message = f->e.mem + wc->wr_id * SIZE;

	need(!wc->status);
	if (!(wc->opcode & IBV_WC_RECV)) {
		f->completed++;
		return;
	}
	f->credits += message[0];
	f->received += message[1];
	f->owed += message[1];
	need(!recv_post(&f->e, wc->wr_id, wc->wr_id * SIZE, SIZE));
}

static bool may_return(const struct flow *f)
{
#ifdef GOOD
	return f->owed >= WINDOW / 2;
#else
	return f->owed >= WINDOW / 2 && f->credits > 0;
#endif
}

/* Both send all that they may at once, so that both have no credit when the other's come. */
static bool exchange(struct flow *f)
{
	struct ibv_wc wc;

	while (f->received < MESSAGES || f->data < MESSAGES) {
		while (f->data < MESSAGES && f->credits) {
			f->credits--;
			f->data++;
			send_message(f, true);
		}
		if (may_return(f))
			send_message(f, false);
		if (!wait_wc(f->e.scq, &wc, PATIENCE_MS))
			return false;
		handle(f, &wc);
	}
	while (f->completed < f->sent && wait_wc(f->e.scq, &wc, PATIENCE_MS))
		handle(f, &wc);
	return true;
}

static void begin(struct flow *f)
{
	f->credits = WINDOW;
	f->owed = 0;
	for (int i = 0; i < 3 * WINDOW; i++)
		need(!recv_post(&f->e, i, i * SIZE, SIZE));
	end_connect(&f->e);
}

static void begin_again(struct flow *f)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	fprintf(stderr, "no credit for %d ms\n", PATIENCE_MS);
	end_sync(&f->e);
	need(!ibv_modify_qp(f->e.qp, &attr, IBV_QP_STATE));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 };
	need(!ibv_modify_qp(f->e.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	begin(f);
}

int main(void)
{
	struct flow f = { .credits = WINDOW };
	struct end *e = &f.e;

	two_ends(e);
	end_open(e, cfg_usual(), 16384);
	begin(&f);
	while (!exchange(&f))
		begin_again(&f);
	end_sync(e);
	return end_close(e, 0);
}

/*
 * A journal: records are written into a ring of slots in the memory of a server, which applies them
 * and sends a message for each one.
 *
 * Bad: one record more is written than there are slots, so that the first may still be there. GOOD:
 * as many as there are slots.
 */
#include "rep.h"

enum { RECORDS = 80, SLOTS = 8, SIZE = 512, DONE = 8192, RING = 16384 };

#ifdef GOOD
enum { AHEAD = SLOTS };
#else
enum { AHEAD = SLOTS + 1 };
#endif

static uint64_t *slot_of(struct end *e, int record)
{
	return (uint64_t *)(e->mem + RING + record % SLOTS * SIZE);
}

/* The server: applies the records in order; the last word of a record is written last. */
static void apply(struct end *e)
{
	struct ibv_wc wc;

	for (int i = 0; i < RECORDS; i++) {
		volatile uint64_t *last = slot_of(e, i) + SIZE / 8 - 1;
		double end = now_ms() + 5000;

		while (*last < (uint64_t)i + 1)
			need(now_ms() < end);
		nap(0.2); /* it writes to a disk */
		need(!send_post(e, i, DONE, 8, IBV_SEND_SIGNALED));
		need(wait_wc(e->scq, &wc, 5000) && !wc.status);
	}
}

static int take(struct end *e, const struct ibv_wc *wc)
{
	need(!wc->status);
	if (!(wc->opcode & IBV_WC_RECV))
		return 0;
	need(!recv_post(e, wc->wr_id, DONE + 8 * wc->wr_id, 8));
	return 1;
}

static void journal(struct end *e)
{
	struct ibv_wc wc;
	int applied = 0;

	for (int i = 0; i < RECORDS; i++) {
		uint64_t *record = (uint64_t *)(e->mem + i % (2 * SLOTS) * SIZE);

		record[0] = record[SIZE / 8 - 1] = i + 1;
		while (i - applied >= AHEAD)
			if (wait_wc(e->scq, &wc, 5000))
				applied += take(e, &wc);
		need(!rdma_post(e, IBV_WR_RDMA_WRITE, i, (char *)record - e->mem, SIZE,
				e->peer.va + RING + i % SLOTS * SIZE, IBV_SEND_SIGNALED));
	}
	while (applied < RECORDS) {
		need(wait_wc(e->scq, &wc, 5000));
		applied += take(e, &wc);
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	two_ends(&e);
	end_open(&e, c, RING + SLOTS * SIZE);
	for (int i = 0; i < 32 && !e.server; i++)
		need(!recv_post(&e, i, DONE + 8 * i, 8));
	end_connect(&e);
	(e.server ? apply : journal)(&e);
	end_sync(&e);
	return end_close(&e, 0);
}

#pragma once
/*
 * Mistakes of keys and addresses: values that are nearly right, and keys that no longer exist
 */
#include <byteswap.h>

#include "tests/apps/mutant.h"

enum {
	HEADER = 40, /* that of a datagram */
	WINDOW = 4096,
	ALL_RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_MW_BIND,
};

/* Values */

static void use_lkey_remotely(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[1], AREA, ALL_RIGHTS));
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.rkey = mr->lkey;
	if (mr->lkey != mr->rkey)
		send_wrong(p, &wr);
	MUST(ibv_dereg_mr(mr));
}

static void use_own_rkey(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.rkey = mrs[0]->rkey;
	send_wrong(p, &wr);
}

static void reverse_rkey(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.rkey = bswap_32(wr.wr.rdma.rkey);
	send_wrong(p, &wr);
}

static void reverse_address(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr = bswap_64(wr.wr.rdma.remote_addr);
	send_wrong(p, &wr);
}

static void cut_address(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr = (uint32_t)wr.wr.rdma.remote_addr;
	send_wrong(p, &wr);
}

static void use_offset(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr -= (uintptr_t)area[1];
	send_wrong(p, &wr);
}

/* The place of a datagram's payload in a buffer that has no room for the header. */
static void overrun_by_header(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)area[1] + AREA - sge.length + HEADER;
	send_wrong(p, &wr);
}

static void overrun_by_little(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)area[1] + AREA - sge.length + 1 + roll_dice(7);
	send_wrong(p, &wr);
}

static void cut_local_address(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	sge.addr = (uint32_t)sge.addr;
	send_wrong(p, &wr);
}

static void use_rkey_locally(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	sge.lkey = mrs[0]->rkey;
	if (mrs[0]->lkey != mrs[0]->rkey)
		send_wrong(p, &wr);
}

static void read_unreadable(struct pair *p)
{
	struct ibv_mr *mr = NEED(
		ibv_reg_mr(pd, area[1], AREA, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.rkey = mr->rkey;
	send_wrong(p, &wr);
	MUST(ibv_dereg_mr(mr));
}

/* Windows of type 2 */

struct window {
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t rkey, start; /* in the area of side 1 */
};

/* A request of side 1 for the window. */
static void post_for_window(struct pair *p, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr_id = next_id(SEND_ID);
	wr->send_flags = IBV_SEND_SIGNALED;
	p->signals++;
	MUST(ibv_post_send(p->qp[1], wr, &bad));
	drain_pair(p);
}

/* The window gets its next key, and another range. */
static void bind_window(struct pair *p, struct window *w)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	w->rkey = ibv_inc_rkey(w->rkey);
	w->start = roll_dice(AREA / WINDOW) * WINDOW;
	wr.bind_mw.mw = w->mw;
	wr.bind_mw.rkey = w->rkey;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ w->mr, (uintptr_t)area[1] + w->start, WINDOW,
					   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
	post_for_window(p, &wr);
}

static void unbind_window(struct pair *p, struct window *w)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = w->rkey };

	post_for_window(p, &wr);
}

static void open_window(struct window *w)
{
	w->mr = NEED(ibv_reg_mr(pd, area[1], AREA, ALL_RIGHTS));
	w->mw = NEED(ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	w->rkey = w->mw->rkey;
}

static void close_window(struct pair *p, struct window *w)
{
	flush_pair(p);
	if (w->mw)
		MUST(ibv_dealloc_mw(w->mw));
	MUST(ibv_dereg_mr(w->mr));
}

static void access_window(struct pair *p, const struct window *w, uint32_t rkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)area[1] + w->start + roll_dice(WINDOW - PIECE - 8);
	wr.wr.rdma.rkey = rkey;
	send_wrong(p, &wr);
}

/* Use the window properly, several times. */
static void use_window(struct pair *p, struct window *w)
{
	open_window(w);
	bind_window(p, w);
	for (uint32_t n = roll_dice(3); n; n--)
		access_window(p, w, w->rkey);
}

static void write_unbound(struct pair *p)
{
	struct window w;

	open_window(&w);
	w.start = 0;
	access_window(p, &w, w.rkey);
	close_window(p, &w);
}

static void write_invalidated(struct pair *p)
{
	struct window w;

	use_window(p, &w);
	unbind_window(p, &w);
	access_window(p, &w, w.rkey);
	close_window(p, &w);
}

static void write_sent_back(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct window w;

	use_window(p, &w);
	wr = plain_write(p, &sge);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = w.rkey;
	send_wrong(p, &wr);
	access_window(p, &w, w.rkey);
	close_window(p, &w);
}

static void write_by_older_key(struct pair *p)
{
	struct window w;
	uint32_t older;

	use_window(p, &w);
	older = w.rkey;
	for (uint32_t n = 1 + roll_dice(2); n; n--) {
		unbind_window(p, &w);
		bind_window(p, &w);
	}
	access_window(p, &w, older);
	close_window(p, &w);
}

static void write_deallocated(struct pair *p)
{
	struct window w;

	use_window(p, &w);
	MUST(ibv_dealloc_mw(w.mw));
	w.mw = NULL;
	access_window(p, &w, w.rkey);
	close_window(p, &w);
}

/* The window is bound again to another range, with a key that is sent to the peer. */
static void write_where_window_was(struct pair *p)
{
	struct window w;
	uint32_t start;

	use_window(p, &w);
	start = w.start;
	do {
		unbind_window(p, &w);
		bind_window(p, &w);
	} while (w.start == start);
	w.start = start;
	access_window(p, &w, w.rkey);
	close_window(p, &w);
}

static void write_where_region_was(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[1], AREA / 2, ALL_RIGHTS));
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)area[1] + roll_dice(AREA / 2 - PIECE - 8);
	wr.wr.rdma.rkey = mr->rkey;
	MUST(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, area[1] + AREA / 2, AREA / 2,
			  0));
	send_wrong(p, &wr);
	MUST(ibv_dereg_mr(mr));
}

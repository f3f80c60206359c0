/*
 * Posts, polls and notifies out of a block's columns
 *
 * Not here: which event is next (stream.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/read/stream_priv.h"
#include "core/wire/event.h"
#include "core/wire/log.h"

static int reserve(struct stream *s, void *memory, uint32_t *size, uint32_t count, size_t bytes)
{
	void **at = memory, *more;

	if (count <= *size)
		return 0;
	more = realloc(*at, count * bytes * 2);
	if (!more)
		return log_err(-ENOMEM, "read an event");
	*at = more;
	*size = count * 2;
	stream_hold(s);
	return 0;
}

#define GET(s, name, family) block_get(&(s)->block, COLUMN_##name, (s)->walk.at[FAMILY_##family])

static void fill_rare_parts(struct stream *s, struct wr *wr, unsigned int parts)
{
	if (parts & WR_ATOMIC) {
		wr->compare_add = GET(s, compare_add, ATOMIC);
		wr->swap = GET(s, swap, ATOMIC);
	}
	if (parts & WR_UD) {
		wr->ah = GET(s, ah, UD);
		wr->remote_qpn = (uint32_t)GET(s, remote_qpn, UD);
		wr->remote_qkey = (uint32_t)GET(s, remote_qkey, UD);
	}
	if (parts & WR_XRC)
		wr->remote_srqn = (uint32_t)GET(s, remote_srqn, XRC);
	if (parts & WR_BIND) {
		wr->bind_mw = GET(s, bind_mw, BIND);
		wr->bind_mr = GET(s, bind_mr, BIND);
		wr->bind_addr = GET(s, bind_addr, BIND);
		wr->bind_length = GET(s, bind_length, BIND);
		wr->bind_rkey = (uint32_t)GET(s, bind_rkey, BIND);
		wr->bind_access = (uint32_t)GET(s, bind_access, BIND);
	}
	if (parts & WR_TSO) {
		wr->tso_hdr = GET(s, tso_hdr, TSO);
		wr->tso_hdr_sz = (uint32_t)GET(s, tso_hdr_sz, TSO);
		wr->tso_mss = (uint32_t)GET(s, tso_mss, TSO);
	}
	if (parts & WR_ODD) {
		wr->opcode = (int)GET(s, odd_opcode, ODD);
		wr->send_flags = (uint32_t)GET(s, odd_flags, ODD);
		wr->num_sge = (int)GET(s, odd_num_sge, ODD);
	}
}

static void fill_wr(struct stream *s, struct wr *wr, bool receive)
{
	unsigned int parts = (unsigned int)GET(s, parts, WR);

	wr->wr_id = GET(s, wr_id, WR);
	wr->opcode = (int)GET(s, opcode, WR);
	wr->send_flags = (uint32_t)GET(s, send_flags, WR);
	wr->nsge = (uint32_t)GET(s, nsge, WR);
	wr->num_sge = (int)wr->nsge;
	wr->imm = (uint32_t)GET(s, imm, WR);
	if (parts & WR_RDMA) {
		wr->remote_addr = GET(s, remote_addr, RDMA);
		wr->rkey = (uint32_t)GET(s, rkey, RDMA);
	}
	if (parts & ~WR_RDMA)
		fill_rare_parts(s, wr, parts);
	if (receive)
		wr->opcode = -1;
}

/* Elements of all requests of the event, from the walk's place on. */
static int fill_sges(struct stream *s, uint32_t count)
{
	uint32_t at = s->walk.at[FAMILY_SGE];

	if (reserve(s, &s->sges, &s->sges_size, count, sizeof(*s->sges)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		s->sges[i] = (struct sge){
			block_get(&s->block, COLUMN_addr, at + i),
			(uint32_t)block_get(&s->block, COLUMN_length, at + i),
			(uint32_t)block_get(&s->block, COLUMN_lkey, at + i) };
	return 0;
}

int stream_post(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwr = (uint32_t)GET(s, nwr, POST), nsge = 0;

	s->post = (struct post){ .verb = kind_verb(kind),
				 .handle = GET(s, post_handle, POST),
				 .ret = (int)GET(s, post_ret, POST),
				 .bad = (uint32_t)GET(s, post_bad, POST),
				 .nwr = nwr,
				 .stack = (uint32_t)GET(s, post_stack, POST) };
	if (reserve(s, &s->wrs, &s->wrs_size, nwr, sizeof(*s->wrs)))
		return -ENOMEM;
	for (uint32_t i = 0; i < nwr; i++)
		nsge += (uint32_t)block_get(&s->block, COLUMN_nsge, s->walk.at[FAMILY_WR] + i);
	if (fill_sges(s, nsge))
		return -ENOMEM;
	if (nwr)
		memset(s->wrs, 0, nwr * sizeof(*s->wrs)); /* at once: most of it stays */
	for (uint32_t i = 0, at = 0; i < nwr; i++) {
		fill_wr(s, &s->wrs[i], !post_is_send(&s->post));
		s->wrs[i].sge = nsge ? s->sges + at : NULL;
		at += s->wrs[i].nsge;
		walk_next_wr(&s->block, &s->walk);
	}
	s->post.wr = s->wrs;
	event->kind = TRACE_POST;
	event->post = &s->post;
	return 0;
}

static void fill_wc(struct stream *s, struct wc *wc)
{
	wc->wr_id = GET(s, wc_wr_id, WC);
	wc->status = (int)GET(s, status, WC);
	wc->opcode = (int)GET(s, wc_opcode, WC);
	wc->vendor_err = (uint32_t)GET(s, vendor_err, WC);
	wc->byte_len = (uint32_t)GET(s, byte_len, WC);
	wc->imm = (uint32_t)GET(s, wc_imm, WC);
	wc->qp_num = (uint32_t)GET(s, qp_num, WC);
	wc->src_qp = (uint32_t)GET(s, src_qp, WC);
	wc->wc_flags = (uint32_t)GET(s, wc_flags, WC);
	wc->pkey_index = (uint16_t)GET(s, pkey_index, WC);
	wc->slid = (uint16_t)GET(s, slid, WC);
	wc->sl = (uint8_t)GET(s, sl, WC);
	wc->dlid_path_bits = (uint8_t)GET(s, dlid_path_bits, WC);
	wc->posted_at = -1;
}

static void fill_extra(struct stream *s, struct wc *wc)
{
	wc->parts = (uint32_t)GET(s, wc_parts, EXTRA);
	wc->timestamp = GET(s, timestamp, EXTRA);
	wc->wallclock = GET(s, wallclock, EXTRA);
	wc->cvlan = (uint16_t)GET(s, cvlan, EXTRA);
	wc->flow_tag = (uint32_t)GET(s, flow_tag, EXTRA);
	wc->tm_tag = GET(s, tm_tag, EXTRA);
	wc->tm_priv = (uint32_t)GET(s, tm_priv, EXTRA);
}

int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwc = (uint32_t)GET(s, nwc, POLL);

	s->poll = (struct poll){ .verb = kind_verb(kind & KIND_MASK),
				 .handle = GET(s, poll_handle, POLL),
				 .ret = (int)GET(s, poll_ret, POLL),
				 .empty = GET(s, empty, POLL),
				 .nwc = nwc };
	if (reserve(s, &s->wcs, &s->wcs_size, nwc, sizeof(*s->wcs)))
		return -ENOMEM;
	if (nwc)
		memset(s->wcs, 0, nwc * sizeof(*s->wcs));
	for (uint32_t i = 0; i < nwc; i++) {
		fill_wc(s, &s->wcs[i]);
		if (kind & KIND_EXTRA)
			fill_extra(s, &s->wcs[i]);
		walk_next_wc(&s->block, &s->walk);
	}
	s->poll.wc = s->wcs;
	event->kind = TRACE_POLL;
	event->poll = &s->poll;
	return 0;
}

void stream_notify(struct stream *s, struct trace_event *event)
{
	s->notify = (struct notify){ .handle = GET(s, notify_handle, NOTIFY),
				     .solicited_only = (int)GET(s, solicited, NOTIFY),
				     .ret = (int)GET(s, notify_ret, NOTIFY) };
	event->kind = TRACE_NOTIFY;
	event->notify = &s->notify;
}

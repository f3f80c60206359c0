/*
 * Preparing recorded work requests for posting
 *
 * Buffers, keys, address handles and numbers are translated, and the recorded bytes are put where
 * the requests will read them.
 *
 * Not here: posting them (posts.c, posts_build.c).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/data/contents.h"
#include "replay/data/held_requests.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "replay/data/posting.h"
#include "replay/device/builder.h"
#include "replay/state/translate.h"

/* For requests whose SGEs are not in the trace. Devices do not modify lists. */
static struct ibv_sge no_sges[SGES_MAX];

/*
 * The number of SGEs that @wr needs. No writer stores a part of a list, but an edited trace may
 * have only a part.
 */
static uint32_t sges_of(const struct wr *wr)
{
	uint32_t n = wr->nsge && wr->num_sge > 0 ? (uint32_t)wr->num_sge : 0;

	n = n > UINT8_MAX ? UINT8_MAX : n;
	return n > wr->nsge ? n : wr->nsge;
}

int posts_reserve(struct request_memory *wrs, const struct post *post)
{
	size_t nsges = 0;

	for (uint32_t i = 0; i < post->nwr; i++)
		nsges += sges_of(&post->wr[i]);
	if (post->nwr > wrs->nwr) {
		free(wrs->send);
		free(wrs->recv);
		wrs->nwr = post->nwr;
		wrs->send = calloc(wrs->nwr, sizeof(*wrs->send));
		wrs->recv = calloc(wrs->nwr, sizeof(*wrs->recv));
	}
	if (nsges > wrs->nsges) {
		free(wrs->sges);
		free(wrs->bufs);
		wrs->nsges = nsges;
		wrs->sges = calloc(nsges, sizeof(*wrs->sges));
		wrs->bufs = calloc(nsges, sizeof(*wrs->bufs));
	}
	if ((post->nwr && (!wrs->send || !wrs->recv)) || (nsges && (!wrs->sges || !wrs->bufs))) {
		wrs->nwr = wrs->nsges = 0;
		return -ENOMEM;
	}
	return 0;
}

static struct ibv_sge *put_sges(struct post_in_progress *p, const struct wr *wr, bool keys)
{
	struct ibv_sge *first = p->sge;
	uint32_t n = sges_of(wr);

	for (uint32_t i = 0; i < n; i++, p->sge++) {
		struct ibv_sge *to = p->sge;

		*to = (struct ibv_sge){ 0 };
		if (i >= wr->nsge)
			continue;
		to->length = wr->sge[i].length;
		to->lkey = wr->sge[i].lkey;
		if (!keys) { /* inline data: keys are not used, and may have any value */
			void *at = memory_span(p->r->memory[p->event->process], wr->sge[i].addr,
					       to->length);

			to->lkey = 0;
			to->addr = (uintptr_t)(at ? at
						  : memory_scratch(p->r->memory[p->event->process],
								   to->length));
			continue;
		}
		to->addr = translate_local(p->r, p->event->process, wr->sge[i].addr,
					   wr->sge[i].length, &to->lkey);
	}
	return n ? first : no_sges;
}

static void put_datagram(struct post_in_progress *p, const struct wr *wr, struct ibv_send_wr *to)
{
	static const struct field_info ah = { .name = "ah",
					      .kind = FIELD_OBJ,
					      .object = OBJECT_ah };
	struct translation t = { .r = p->r, .event = p->event, .time = p->event->time };

	to->wr.ud.ah = (void *)(uintptr_t)translate_field(&t, &ah, wr->ah);
	to->wr.ud.remote_qpn = pair_find_datagram_qp(p->r, p->event, wr)
				       ?: synth_datagram_qpn(p->r, p->post->object, wr->remote_qpn);
	if (!to->wr.ud.remote_qpn)
		to->wr.ud.remote_qpn =
			wr->remote_qpn == 0xffffff
				? 0xffffff
				: translate_qpn(p->r, wr->remote_qpn, p->event->time);
	to->wr.ud.remote_qkey = wr->remote_qkey;
	if (t.missing) {
		__builtin_memcpy(p->text, t.text, sizeof(p->text));
		p->missing = p->text;
		p->lacking = t.missing_object;
	}
}

/*
 * The upper bits of the key are those of the replay's window, the lowest 8 are the program's. The
 * window gets its new key once the request is posted: devices find it by the old one.
 */
static void put_bind(struct post_in_progress *p, const struct wr *wr, struct ibv_send_wr *to)
{
	static const struct field_info window = { .name = "mw",
						  .kind = FIELD_OBJ,
						  .object = OBJECT_mw };
	struct translation t = { .r = p->r, .event = p->event, .time = p->event->time };
	struct ibv_mw *mw = (void *)(uintptr_t)translate_field(&t, &window, wr->bind_mw);
	const struct object *o = trace_object_at(p->r->trace, p->event->process, OBJECT_mr,
						 wr->bind_mr, p->event->time);
	const struct replica *mr = o && wr->bind_mr ? replica_of(p->r, o->id) : NULL;

	if (t.missing || !mw) {
		p->missing = "its memory window was not created in the replay";
		p->lacking = t.missing_object;
		return;
	}
	if (wr->bind_mr && (!mr || !mr->handle)) {
		p->missing = "the region of its memory window was not created in the replay";
		p->lacking = o ? o->id : 0;
		return;
	}
	to->bind_mw.mw = mw;
	to->bind_mw.rkey = (mw->rkey & ~0xffu) | (wr->bind_rkey & 0xff);
	to->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr ? mr->handle : NULL,
		.addr = mr ? wr->bind_addr - mr->recorded_base + mr->replayed_base : wr->bind_addr,
		.length = wr->bind_length,
		.mw_access_flags = wr->bind_access,
	};
}

/* The replay's address of the remote memory of @wr; the key is replaced. */
static uint64_t put_remote(const struct post_in_progress *p, const struct wr *wr, uint32_t peer,
			   uint32_t *rkey)
{
	uint64_t addr = wr->remote_addr;

	if (pair_is_joined(p->r, p->post->object)) {
		pair_translate_remote(p->r, p->event, (uint32_t)(wr - p->post->wr), &addr, rkey);
		return addr;
	}
	if (!synth_has(p->r, p->post->object))
		return translate_remote(p->r, peer, addr, rkey);
	synth_remote_address(p->r, p->event, (uint32_t)(wr - p->post->wr), &addr, rkey);
	return addr;
}

static void put_flush(struct post_in_progress *p, const struct wr *wr, struct ibv_send_wr *to,
		      uint32_t peer)
{
	uint32_t rkey = wr->rkey;

	if (!p->built) {
		p->missing = "a flush can be posted only by ibv_wr_flush()";
		return;
	}
	if (synth_has(p->r, p->post->object)) {
		p->missing = "a synthesized peer has no region that allows flushes";
		return;
	}
	to->wr.atomic.remote_addr = put_remote(p, wr, peer, &rkey);
	to->wr.atomic.rkey = rkey;
	to->wr.atomic.compare_add = wr->flush_length;
	to->wr.atomic.swap = wr->flush_level << 8 | (uint8_t)wr->flush_type;
}

/* Is it an atomic write in the form that the recorder writes? A damaged trace may have others. */
static bool has_own_bytes(const struct wr *wr)
{
	return wr->send_flags & IBV_SEND_INLINE && wr->nsge == 1 && wr->num_sge == 1 &&
	       wr->sge[0].length == sizeof(uint64_t);
}

static void put_operation(struct post_in_progress *p, const struct wr *wr, struct ibv_send_wr *to)
{
	uint32_t peer = translate_peer_process(p->r, p->replica->qp, p->event->process);
	uint32_t rkey = wr->rkey;

	switch (wr->opcode) {
	case IBV_WR_SEND:
		break;
	case IBV_WR_SEND_WITH_IMM:
		to->imm_data = htonl(wr->imm);
		break;
	case IBV_WR_SEND_WITH_INV:
		if (pair_is_joined(p->r, p->post->object)) {
			rkey = wr->imm;
			put_remote(p, wr, peer, &rkey);
			to->invalidate_rkey = rkey;
			break;
		}
		to->invalidate_rkey = synth_window_key(p->r, p->event, (uint32_t)(wr - p->post->wr))
					      ?: translate_rkey(p->r, peer, wr->imm);
		break;
	case IBV_WR_LOCAL_INV:
		to->invalidate_rkey = translate_rkey(p->r, p->event->process, wr->imm);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		to->imm_data = htonl(wr->imm);
		/* fallthrough */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		to->wr.rdma.remote_addr = put_remote(p, wr, peer, &rkey);
		to->wr.rdma.rkey = rkey;
		break;
	case IBV_WR_ATOMIC_WRITE:
		if (!has_own_bytes(wr))
			p->missing = "the eight bytes that it writes are not in the trace";
		to->wr.rdma.remote_addr = put_remote(p, wr, peer, &rkey);
		to->wr.rdma.rkey = rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		to->wr.atomic.remote_addr = put_remote(p, wr, peer, &rkey);
		to->wr.atomic.rkey = rkey;
		to->wr.atomic.compare_add = wr->compare_add;
		to->wr.atomic.swap = wr->swap;
		break;
	case IBV_WR_BIND_MW:
		put_bind(p, wr, to);
		break;
	case IBV_WR_TSO:
		p->missing = "headers for segmentation are not in the trace";
		break;
	case BUILDER_FLUSH:
		put_flush(p, wr, to, peer);
		break;
	default:
		break;
	}
}

static void put_send(struct post_in_progress *p, const struct wr *wr, struct ibv_send_wr *to)
{
	uint64_t srqn;

	to->opcode = (enum ibv_wr_opcode)wr->opcode;
	to->send_flags = wr->send_flags;
	to->num_sge = wr->num_sge;
	to->sg_list = put_sges(p, wr, !(wr->send_flags & IBV_SEND_INLINE));
	put_operation(p, wr, to);
	if (p->replica->qp->type == IBV_QPT_UD)
		put_datagram(p, wr, to);
	if (p->replica->qp->type != IBV_QPT_XRC_SEND)
		return;
	to->qp_type.xrc.remote_srqn = synth_srqn(p->r, p->post->object, wr->remote_srqn);
	if (!to->qp_type.xrc.remote_srqn)
		to->qp_type.xrc.remote_srqn = map_get(&p->r->srqns, wr->remote_srqn, &srqn)
						      ? (uint32_t)srqn
						      : wr->remote_srqn;
}

static void put_recv(struct post_in_progress *p, const struct wr *wr, struct ibv_recv_wr *to)
{
	to->num_sge = wr->num_sge;
	to->sg_list = put_sges(p, wr, true);
}

uint32_t posts_length(const struct wr *wr)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

static bool is_signaled(const struct post_in_progress *p, const struct wr *wr)
{
	return p->side == SIDE_SEND &&
	       (p->replica->qp->signals_all || wr->send_flags & IBV_SEND_SIGNALED);
}

/* Note that request @i is outstanding. */
static int put_request(struct post_in_progress *p, uint32_t i, bool forced, uint64_t *ret_wr_id)
{
	const struct wr *wr = &p->post->wr[i];
	struct requests *requests = p->requests;
	uint64_t posted = wr->wr_id;
	struct request *request;

	*ret_wr_id = posted;
	if (p->post->verb == VERB_wr_abort)
		return 0;
	if (!p->replica->qp || posts_is_ambiguous(p->replica->qp, p->side, wr))
		posted = request_cookie(p->post->object, p->side, requests->tail);
	else
		requests->last_wr_id = posted;
	*ret_wr_id = posted;
	request = requests_add(requests);
	if (!request)
		return -ENOMEM;
	*request = (struct request){ .wr_id = wr->wr_id,
				     .posted = posted,
				     .event = p->event->id,
				     .index = i,
				     .length = posts_length(wr),
				     .signaled = forced || is_signaled(p, wr),
				     .forced = forced };
	if (!p->r->contents)
		return 0;
	if (p->side == SIDE_RECV)
		request->landing = contents_note_buffers(p->r, p->event->process, wr);
	else if (request->signaled && !forced)
		request->landing = contents_fetch(p->r, p->event, wr, p->replica->qp);
	return 0;
}

static int fill_send(struct post_in_progress *p, uint32_t i)
{
	struct ibv_send_wr *to = &p->wrs->send[i];
	bool forced;

	*to = (struct ibv_send_wr){ .next = i + 1 < p->post->nwr ? to + 1 : NULL };
	put_send(p, &p->post->wr[i], to);
	forced = held_must_signal(p->requests, is_signaled(p, &p->post->wr[i]));
	if (forced)
		to->send_flags |= IBV_SEND_SIGNALED;
	if (contents_fill(p->r, p->event, i, to->sg_list))
		return -EINVAL;
	return put_request(p, i, forced, &to->wr_id);
}

static int fill_recv(struct post_in_progress *p, uint32_t i)
{
	struct ibv_recv_wr *to = &p->wrs->recv[i];

	to->next = i + 1 < p->post->nwr ? to + 1 : NULL;
	put_recv(p, &p->post->wr[i], to);
	return put_request(p, i, false, &to->wr_id);
}

int posts_fill(struct post_in_progress *p)
{
	int err = 0;

	p->sge = p->wrs->sges;
	for (uint32_t i = 0; i < p->post->nwr && !err; i++)
		err = p->side == SIDE_SEND ? fill_send(p, i) : fill_recv(p, i);
	return err;
}

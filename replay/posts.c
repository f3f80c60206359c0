/*
 * Work requests, posted again
 *
 * A recorded list is posted as a list, with buffers, keys and numbers translated;
 * the device's answer is compared with the recorded one. If the device here refuses
 * requests that the recorded one took, its queue may be full of completions that
 * the recorded program polled in a way that is not recorded: so they are polled,
 * and the rest is tried again.
 *
 * Requests that were built by ibv_wr_*() are posted by ibv_post_send(): a queue
 * pair made with send_ops_flags takes both. Only ibv_wr_atomic_write() takes 8
 * bytes from outside any region, so it is built again.
 */
#include "replay/posts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/differ.h"
#include "replay/contents.h"
#include "replay/made.h"
#include "replay/pace.h"
#include "replay/polls.h"
#include "replay/state.h"
#include "replay/translate.h"

/* The list that is being posted; reused for the next one. */
struct wrs {
	struct ibv_send_wr *send;
	struct ibv_recv_wr *recv;
	size_t nwr;
	struct ibv_sge *sges;
	size_t nsges;
};

enum { SGES_MAX = 4096 }; /* longer lists of SGEs are not filled in */

/* For requests whose SGEs are not in the trace. Devices do not change lists. */
static struct ibv_sge no_sges[SGES_MAX];

/* SGEs that it needs. No writer stores part of a list, but an edited trace may have one. */
static uint32_t sges_of(const struct wr *wr)
{
	uint32_t n = wr->nsge && wr->num_sge > 0 ? (uint32_t)wr->num_sge : 0;

	n = n > UINT8_MAX ? UINT8_MAX : n;
	return n > wr->nsge ? n : wr->nsge;
}

static int make_room(struct wrs *wrs, const struct post *post)
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
		wrs->nsges = nsges;
		wrs->sges = calloc(nsges, sizeof(*wrs->sges));
	}
	if ((post->nwr && (!wrs->send || !wrs->recv)) || (nsges && !wrs->sges)) {
		wrs->nwr = wrs->nsges = 0;
		return -ENOMEM;
	}
	return 0;
}

/* One post on its way. */
struct posting {
	struct replay *r;
	const struct trace_event *event;
	const struct post *post;
	struct replica *replica;   /* QP or SRQ */
	struct requests *requests; /* of its side */
	enum side side;
	struct ibv_sge *sge; /* next free */
	const char *missing;
	char text[160];
};

static struct ibv_sge *put_sges(struct posting *p, const struct wr *wr, bool keys)
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
		if (!keys) { /* inline: no key is looked at, and one may name anything */
			void *at = memory_at(p->r->memory[p->event->process], wr->sge[i].addr);

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

static void put_datagram(struct posting *p, const struct wr *wr, struct ibv_send_wr *to)
{
	static const struct field_info ah = { .name = "ah",
					      .kind = FIELD_OBJ,
					      .object = OBJECT_ah };
	struct translation t = { .r = p->r, .event = p->event, .time = p->event->time };

	to->wr.ud.ah = (void *)(uintptr_t)translate_field(&t, &ah, wr->ah);
	to->wr.ud.remote_qpn = made_datagram(p->r, p->post->object, wr->remote_qpn);
	if (!to->wr.ud.remote_qpn)
		to->wr.ud.remote_qpn =
			wr->remote_qpn == 0xffffff
				? 0xffffff
				: translate_qpn(p->r, wr->remote_qpn, p->event->time);
	to->wr.ud.remote_qkey = wr->remote_qkey;
	if (t.missing) {
		__builtin_memcpy(p->text, t.text, sizeof(p->text));
		p->missing = p->text;
	}
}

/*
 * The upper bits of the key are those of the window here, the lowest 8 are chosen
 * by the program. The window has its new key from now on, as in programs.
 */
static void put_bind(struct posting *p, const struct wr *wr, struct ibv_send_wr *to)
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
		p->missing = "its memory window was not made here";
		return;
	}
	if (wr->bind_mr && (!mr || !mr->handle)) {
		p->missing = "the region of its memory window was not made here";
		return;
	}
	mw->rkey = (mw->rkey & ~0xffu) | (wr->bind_rkey & 0xff);
	to->bind_mw.mw = mw;
	to->bind_mw.rkey = mw->rkey;
	to->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr ? mr->handle : NULL,
		.addr = mr ? wr->bind_addr - mr->base_there + mr->base_here : wr->bind_addr,
		.length = wr->bind_length,
		.mw_access_flags = wr->bind_access,
	};
}

/* The address here of what @wr names of the other end; the key is replaced. */
static uint64_t put_remote(const struct posting *p, const struct wr *wr, uint32_t peer,
			   uint32_t *rkey)
{
	uint64_t addr = wr->remote_addr;

	if (!made_has(p->r, p->post->object))
		return translate_remote(p->r, peer, addr, rkey);
	made_remote(p->r, p->event, (uint32_t)(wr - p->post->wr), &addr, rkey);
	return addr;
}

static void put_operation(struct posting *p, const struct wr *wr, struct ibv_send_wr *to)
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
		to->invalidate_rkey = translate_rkey(p->r, peer, wr->imm);
		break;
	case IBV_WR_LOCAL_INV:
		to->invalidate_rkey = translate_rkey(p->r, p->event->process, wr->imm);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		to->imm_data = htonl(wr->imm);
		/* fallthrough */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
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
	case 14: /* IBV_WR_FLUSH, which not every header has */
		p->missing = "a flush is posted by ibv_wr_flush() alone";
		break;
	default:
		break;
	}
}

static void put_send(struct posting *p, const struct wr *wr, struct ibv_send_wr *to)
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
	to->qp_type.xrc.remote_srqn = made_srqn(p->r, p->post->object, wr->remote_srqn);
	if (!to->qp_type.xrc.remote_srqn)
		to->qp_type.xrc.remote_srqn = map_get(&p->r->srqns, wr->remote_srqn, &srqn)
						      ? (uint32_t)srqn
						      : wr->remote_srqn;
}

static void put_recv(struct posting *p, const struct wr *wr, struct ibv_recv_wr *to)
{
	to->num_sge = wr->num_sge;
	to->sg_list = put_sges(p, wr, true);
}

static uint32_t length_of(const struct wr *wr)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

/* Fill the list, and note a request for each element. */
static int put_list(struct posting *p)
{
	struct wrs *wrs = p->r->wrs;
	uint32_t number;

	if (p->side == SIDE_SEND && p->post->nwr)
		memset(wrs->send, 0, p->post->nwr * sizeof(*wrs->send));
	p->sge = wrs->sges;
	for (uint32_t i = 0; i < p->post->nwr; i++) {
		const struct wr *wr = &p->post->wr[i];
		struct request request = { wr->wr_id, p->event->id, i, length_of(wr), false, 0 };
		uint64_t cookie;

		if (p->side == SIDE_RECV)
			request.landing = contents_landing(p->r, p->event->process, wr);

		if (requests_put(p->requests, &request, &number))
			return -ENOMEM;
		cookie = request_cookie(p->post->object, p->side, number);
		if (p->side == SIDE_SEND) {
			put_send(p, wr, &wrs->send[i]);
			if (contents_fill(p->r, p->event, i, wrs->send[i].sg_list))
				return -EINVAL;
			wrs->send[i].wr_id = cookie;
			wrs->send[i].next = i + 1 < p->post->nwr ? &wrs->send[i + 1] : NULL;
		} else {
			put_recv(p, wr, &wrs->recv[i]);
			wrs->recv[i].wr_id = cookie;
			wrs->recv[i].next = i + 1 < p->post->nwr ? &wrs->recv[i + 1] : NULL;
		}
	}
	return 0;
}

static bool takes_receive(const struct wr *wr)
{
	return wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
	       wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* On a reliable connection the peer will receive all of it in order: remember it. */
static int note_sent(struct posting *p, uint32_t taken)
{
	struct replica_qp *qp = p->replica->qp;
	uint32_t number;

	if (p->side != SIDE_SEND || qp->type != IBV_QPT_RC)
		return 0;
	for (uint32_t i = 0; i < taken; i++) {
		const struct request request = { .event = p->event->id, .index = i };

		if (takes_receive(&p->post->wr[i]) && requests_put(&qp->sent, &request, &number))
			return -ENOMEM;
	}
	return 0;
}

static bool is_built_alone(const struct post *post, const struct ibv_send_wr *wr)
{
	return post->verb == VERB_wr_complete && wr->opcode == IBV_WR_ATOMIC_WRITE &&
	       wr->send_flags & IBV_SEND_INLINE && wr->num_sge == 1 &&
	       wr->sg_list->length == sizeof(uint64_t);
}

static int build_atomic_write(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	if (!ex || !ex->wr_atomic_write)
		return EOPNOTSUPP;
	ibv_wr_start(ex);
	ex->wr_id = wr->wr_id;
	ex->wr_flags = wr->send_flags & ~(unsigned int)IBV_SEND_INLINE;
	ibv_wr_atomic_write(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
			    (void *)(uintptr_t)wr->sg_list->addr);
	return ibv_wr_complete(ex);
}

/* As ibv_post_send(), in runs between the requests that must be built. */
static int post_sends(const struct posting *p, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_qp *qp = p->replica->handle;

	do {
		struct ibv_send_wr *last = wr, *next;
		bool alone = wr && is_built_alone(p->post, wr);
		int ret;

		while (!alone && last && last->next && !is_built_alone(p->post, last->next))
			last = last->next;
		next = last ? last->next : NULL;
		if (last)
			last->next = NULL;
		*bad = wr;
		ret = alone ? build_atomic_write(qp, wr) : ibv_post_send(qp, wr, bad);
		if (last)
			last->next = next;
		if (ret)
			return ret;
		wr = next;
	} while (wr);
	return 0;
}

/* Post from request @from on; returns the verb's result, and how many were taken in all. */
static int post_from(struct posting *p, uint32_t from, uint32_t *ret_taken)
{
	struct wrs *wrs = p->r->wrs;
	struct ibv_send_wr *bad_send = NULL, *send = p->post->nwr ? &wrs->send[from] : NULL;
	struct ibv_recv_wr *bad_recv = NULL, *recv = p->post->nwr ? &wrs->recv[from] : NULL;
	int ret;

	if (p->side == SIDE_SEND)
		ret = p->post->verb == VERB_wr_complete
			      ? post_sends(p, send, &bad_send)
			      : ibv_post_send(p->replica->handle, send, &bad_send);
	else if (p->post->verb == VERB_post_recv)
		ret = ibv_post_recv(p->replica->handle, recv, &bad_recv);
	else if (p->post->verb == VERB_post_wq_recv)
		ret = ibv_post_wq_recv(p->replica->handle, recv, &bad_recv);
	else
		ret = ibv_post_srq_recv(p->replica->handle, recv, &bad_recv);
	*ret_taken = p->post->nwr;
	if (ret && bad_send)
		*ret_taken = (uint32_t)(bad_send - wrs->send);
	if (ret && bad_recv)
		*ret_taken = (uint32_t)(bad_recv - wrs->recv);
	return ret;
}

static int post_patiently(struct posting *p, uint32_t *ret_taken)
{
	int64_t deadline = 0;
	unsigned int turns = 0;
	int ret = post_from(p, 0, ret_taken);

	while (ret == ENOMEM && !p->post->ret && p->replica->qp) {
		if (!deadline)
			deadline = pace_now() + p->r->options->timeout;
		polls_drain(p->r, p->replica);
		if (!pace_wait(&turns, deadline))
			break;
		ret = post_from(p, *ret_taken, ret_taken);
	}
	return ret;
}

/* Requests from @from on will never complete here. */
static int leave_out(struct posting *p, uint32_t from)
{
	return map_put(&p->r->left_out, event_key(p->event->id), from + 1);
}

static int compare_result(struct posting *p, int ret, uint32_t taken)
{
	const struct post *post = p->post;

	differ_ret(p->r->outcome, p->event->id, post->verb, post->object, post->ret, ret);
	if (ret && ret == post->ret && post->bad && post->bad != taken + 1)
		differ_numbers(p->r->outcome, p->event->id, post->verb, post->object, "bad_wr",
			       post->bad - 1, taken);
	if (!ret)
		return 0;
	requests_undo(p->requests, post->nwr - taken);
	return leave_out(p, taken);
}

static int skip_post(struct posting *p, const char *why)
{
	outcome_skipped(p->r->outcome, p->event->id, p->post->verb, p->post->object, why);
	return leave_out(p, 0);
}

static int post_again(struct posting *p)
{
	uint32_t taken;
	int ret, err;

	if (make_room(p->r->wrs, p->post) || contents_begin(p->r, p->post))
		return -ENOMEM;
	err = put_list(p);
	if (err)
		return err;
	if (p->missing) {
		requests_undo(p->requests, p->post->nwr);
		return skip_post(p, p->missing);
	}
	ret = post_patiently(p, &taken);
	if (note_sent(p, taken))
		return -ENOMEM;
	outcome_count(p->r->outcome, OUTCOME_POSTS, 1);
	outcome_count(p->r->outcome, OUTCOME_REQUESTS, p->post->nwr);
	return compare_result(p, ret, taken);
}

int posts_replay(struct replay *r, const struct trace_event *event)
{
	struct posting p; /* its text is long */
	char text[32];
	int err;

	if (event->inner || event->post->verb == VERB_wr_abort)
		return 0;
	p.r = r;
	p.event = event;
	p.post = event->post;
	p.missing = NULL;
	p.replica = replica_of(r, p.post->object);
	p.side = post_is_send(p.post) ? SIDE_SEND : SIDE_RECV;
	if (!p.replica)
		err = skip_post(&p, "the trace does not know its queue");
	else if (!p.replica->handle)
		err = skip_post(&p,
				p.replica->why ? p.replica->why : "its queue was not made here");
	else if (p.replica->qp && p.replica->qp->cut)
		err = skip_post(&p, p.replica->qp->cut);
	else if (p.post->verb == VERB_wr_complete && p.post->ret)
		err = skip_post(
			&p, "ibv_wr_complete() refused all of it, ibv_post_send() may take some");
	else if (trace_object(r->trace, p.post->object)->process != event->process)
		err = skip_post(&p, "a forked process uses what its parent made");
	else {
		p.requests = p.replica->qp ? &p.replica->qp->out[p.side] : p.replica->requests;
		err = post_again(&p);
	}
	return err < 0 ? log_err(err, "replay the post at %s", event_id_text(event->id, text)) : 0;
}

int posts_init(struct replay *r)
{
	r->wrs = calloc(1, sizeof(*r->wrs));
	return r->wrs ? 0 : -ENOMEM;
}

void posts_fini(struct replay *r)
{
	if (!r->wrs)
		return;
	free(r->wrs->send);
	free(r->wrs->recv);
	free(r->wrs->sges);
	free(r->wrs);
}

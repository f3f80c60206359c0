/*
 * Posts of one request that go as recorded
 *
 * The translated request is cached in its form. It is translated again if it changes, or if keys
 * and objects may have changed.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "replay/data/fast.h"
#include "replay/data/faults.h"
#include "replay/data/held_requests.h"
#include "replay/data/posting.h"
#include "replay/state/sent.h"
#include "replay/schedule/bytecode.h"
#include "replay/state/translate.h"

struct fast_post {
	uint64_t changes; /* r->changes at the look-up */
	bool usable, owned;
	enum side side;
	bool takes_receive;
	/* move_buffer() is possible: the request has one buffer, and nothing else can change */
	bool movable;
	struct replica *replica;
	struct requests *own;
	struct request request;
	uint32_t lkey, rkey;           /* recorded keys of the regions found last */
	const struct replica *mr, *to; /* or NULL */
	union {
		struct ibv_send_wr send;
		struct ibv_recv_wr recv;
	};
	struct ibv_sge sges[];
};

static const struct replica *find_region(const struct replay *r, const struct map *keys,
					 uint32_t process, uint32_t key)
{
	uint64_t id;
	const struct replica *mr;

	if (!map_get(keys, process_key(process, key), &id))
		return NULL;
	mr = replica_of((struct replay *)r, (uint32_t)id);
	return mr && mr->region && !mr->implicit ? mr : NULL;
}

/* Like translate_local(), if the region is cached. */
static bool put_sge(const struct replay *r, struct fast_post *f, const struct trace_event *event,
		    const struct sge *there, struct ibv_sge *to)
{
	if (!f->mr || f->lkey != there->lkey)
		f->mr = find_region(r, &r->lkeys, event->process, there->lkey);
	f->lkey = there->lkey;
	if (!f->mr)
		return false;
	*to = (struct ibv_sge){ .addr = there->addr - f->mr->recorded_base + f->mr->replayed_base,
				.length = there->length,
				.lkey = f->mr->number };
	return true;
}

static bool put_inline(const struct replay *r, const struct trace_event *event,
		       const struct sge *there, struct ibv_sge *to)
{
	void *at = memory_span(r->memory[event->process], there->addr, there->length);

	*to = (struct ibv_sge){ .addr = (uintptr_t)at, .length = there->length };
	return at;
}

static bool put_sges(const struct replay *r, struct fast_post *f, const struct trace_event *event,
		     const struct wr *wr)
{
	bool keys = f->side == SIDE_RECV || !(wr->send_flags & IBV_SEND_INLINE);

	f->request.length = 0;
	for (uint32_t i = 0; i < wr->nsge; i++) {
		if (!(keys ? put_sge(r, f, event, &wr->sge[i], &f->sges[i])
			   : put_inline(r, event, &wr->sge[i], &f->sges[i])))
			return false;
		f->request.length += wr->sge[i].length;
	}
	return true;
}

/* Like translate_remote(), if the region is cached. */
static bool put_remote(const struct replay *r, struct fast_post *f, const struct trace_event *event,
		       const struct wr *wr, uint64_t *addr, uint32_t *rkey)
{
	uint32_t peer = translate_peer_process(r, f->replica->qp, event->process);

	if (!f->to || f->rkey != wr->rkey)
		f->to = find_region(r, &r->rkeys, peer, wr->rkey);
	f->rkey = wr->rkey;
	if (!f->to)
		return false;
	*addr = wr->remote_addr - f->to->recorded_base + f->to->replayed_base;
	*rkey = f->to->rkey;
	return true;
}

static bool put_operation(const struct replay *r, struct fast_post *f,
			  const struct trace_event *event, const struct wr *wr)
{
	struct ibv_send_wr *to = &f->send;

	f->takes_receive = false;
	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_IMM:
		to->imm_data = htonl(wr->imm);
		/* fallthrough */
	case IBV_WR_SEND:
		f->takes_receive = true;
		return true;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		f->takes_receive = true;
		to->imm_data = htonl(wr->imm);
		/* fallthrough */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		return put_remote(r, f, event, wr, &to->wr.rdma.remote_addr, &to->wr.rdma.rkey);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		to->wr.atomic.compare_add = wr->compare_add;
		to->wr.atomic.swap = wr->swap;
		return put_remote(r, f, event, wr, &to->wr.atomic.remote_addr, &to->wr.atomic.rkey);
	default:
		return false;
	}
}

static bool put_send(const struct replay *r, struct fast_post *f, const struct trace_event *event,
		     const struct wr *wr)
{
	f->send = (struct ibv_send_wr){ .opcode = (enum ibv_wr_opcode)wr->opcode,
					.send_flags = wr->send_flags,
					.num_sge = wr->num_sge,
					.sg_list = f->sges };
	return put_operation(r, f, event, wr);
}

static bool put_request(const struct replay *r, struct fast_post *f,
			const struct trace_event *event, const struct wr *wr)
{
	const struct replica_qp *qp = f->replica->qp;

	f->request = (struct request){ .wr_id = wr->wr_id };
	if (f->side == SIDE_RECV)
		f->recv = (struct ibv_recv_wr){ .num_sge = wr->num_sge, .sg_list = f->sges };
	else if (!put_send(r, f, event, wr))
		return false;
	f->request.signaled =
		f->side == SIDE_SEND && (qp->signals_all || wr->send_flags & IBV_SEND_SIGNALED);
	return wr->num_sge == (int)wr->nsge && put_sges(r, f, event, wr);
}

static bool is_usable(const struct replay *r, const struct trace_event *event)
{
	const struct post *post = event->post;
	const struct replica *replica = replica_of((struct replay *)r, post->object);

	if (r->far || r->pair || r->contents || r->nlacking || r->needs || r->options->processes)
		return false;
	if (!replica || event->inner || !event->process || event->process >= r->nprocesses)
		return false;
	if (post->verb != VERB_post_send && post->verb != VERB_post_recv)
		return false;
	return replica->qp && replica->handle && !replica->qp->cut &&
	       (replica->qp->type == IBV_QPT_RC || replica->qp->type == IBV_QPT_UC) && !post->ret &&
	       post->nwr == 1;
}

static void prepare_request(struct replay *r, struct fast_post *f, const struct trace_event *event,
			    uint32_t player)
{
	const struct post *post = event->post;

	if (f->changes != r->changes)
		f->mr = f->to = NULL;
	f->changes = r->changes;
	f->usable = is_usable(r, event);
	if (!f->usable)
		return;
	f->replica = replica_of(r, post->object);
	f->owned = f->replica->owner == player;
	f->side = post_is_send(post) ? SIDE_SEND : SIDE_RECV;
	f->own = &f->replica->qp->out[f->side];
	f->usable = !held_queue_is_shorter(f->own) && put_request(r, f, event, &post->wr[0]);
	f->movable = post->wr[0].nsge == 1 &&
		     (f->side == SIDE_RECV ||
		      (f->send.opcode == IBV_WR_SEND && !(f->send.send_flags & IBV_SEND_INLINE)));
}

/* Update the translated request: the queue, verb and number of buffers of a form never change. */
static void update_request(const struct replay *r, struct fast_post *f,
			   const struct trace_event *event, const struct wr *wr)
{
	f->request.wr_id = wr->wr_id;
	f->usable = !event->post->ret && !f->replica->qp->cut && !r->nlacking &&
		    wr->num_sge == (int)wr->nsge && put_sges(r, f, event, wr);
}

static bool is_alike(const struct fast_post *f, const struct wr *wr)
{
	return f->side == SIDE_RECV || (f->send.opcode == (enum ibv_wr_opcode)wr->opcode &&
					f->send.send_flags == wr->send_flags);
}

/* If only the address of its single buffer has changed, translate that; false: more may have. */
static bool move_buffer(const struct replay *r, struct fast_post *f,
			const struct trace_event *event)
{
	const struct wr *wr = &event->post->wr[0];
	const struct sge *there = &wr->sge[0];

	if (f->changes != r->changes || !f->usable || !f->movable || !f->mr ||
	    there->lkey != f->lkey || !is_alike(f, wr) || wr->num_sge != 1 || event->post->ret ||
	    f->replica->qp->cut || r->nlacking)
		return false;
	f->request.wr_id = wr->wr_id;
	f->request.length = there->length;
	f->sges[0].addr = there->addr - f->mr->recorded_base + f->mr->replayed_base;
	f->sges[0].length = there->length;
	return true;
}

/* Look up what the request uses, since it differs from the last one. */
static void refresh_post(struct replay *r, struct fast_post *f, const struct trace_event *event,
			 uint32_t player)
{
	const struct wr *wr = &event->post->wr[0];

	if (f->changes != r->changes || !f->usable || !is_alike(f, wr))
		prepare_request(r, f, event, player);
	else if (f->side == SIDE_SEND && !put_operation(r, f, event, wr))
		f->usable = false;
	else
		update_request(r, f, event, wr);
}

/* The cached state of the form, updated; NULL: the fast path is not possible. */
static struct fast_post *prepare_post(struct replay *r, struct ready_step *step)
{
	const struct post *post = step->event.post;
	struct fast_post *f = step->kept;

	if (__builtin_expect(!f, 0)) {
		if (post->nwr != 1)
			return NULL;
		f = step->kept = calloc(1, sizeof(*f) + post->wr[0].nsge * sizeof(*f->sges));
		if (!f)
			return NULL;
		step->changed = true;
	}
	if ((step->changed || f->changes != r->changes) && !move_buffer(r, f, &step->event))
		refresh_post(r, f, &step->event, step->player);
	step->changed = false;
	return f->usable && !f->own->held ? f : NULL;
}

/* Note that the request is outstanding, and return the wr_id to post; like posts_fill.c. */
static bool note_request(struct fast_post *f, const struct trace_event *event, uint64_t *ret_wr_id)
{
	struct request *request;
	uint64_t posted = f->request.wr_id;

	if (posts_is_ambiguous(f->replica->qp, f->side, &event->post->wr[0]))
		posted = request_cookie(event->post->object, f->side, f->own->tail);
	else
		f->own->last_wr_id = posted;
	request = requests_add(f->own);
	if (!request)
		return false;
	/* field by field: recently stored words are not loaded as wider ones */
	request->wr_id = f->request.wr_id;
	request->posted = posted;
	request->event.thread = event->id.thread;
	request->event.n = event->id.n;
	request->index = 0;
	request->length = f->request.length;
	request->done = request->forced = false;
	request->signaled = f->request.signaled;
	request->landing = 0;
	*ret_wr_id = posted;
	return true;
}

static bool note_sent(struct replay *r, struct fast_post *f, const struct trace_event *event,
		      bool alone)
{
	struct requests *sent = &f->replica->qp->sent;
	struct request *request;

	if (!f->takes_receive)
		return true;
	if (alone && requests_count(sent) == sent->size)
		sent_remove_counted_of(r, f->replica->qp);
	if (requests_count(sent) >= SENT_MOST)
		return false;
	request = requests_add(sent);
	if (!request)
		return false;
	*request = (struct request){ .wr_id = f->replica->number, .length = f->request.length };
	request->event.thread = event->id.thread; /* one by one, as above */
	request->event.n = event->id.n;
	return true;
}

static int post_request(struct fast_post *f)
{
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_recv;

	if (f->side == SIDE_SEND)
		return ibv_post_send(f->replica->handle, &f->send, &bad_send);
	return ibv_post_recv(f->replica->handle, &f->recv, &bad_recv);
}

bool fast_post(struct replay *r, struct ready_step *step, bool alone)
{
	struct fast_post *f = prepare_post(r, step);
	const struct trace_event *event = &step->event;

	if (!f || !(alone || f->owned) || (r->failing && faults_are_due(r, event)) ||
	    !note_request(f, event, f->side == SIDE_SEND ? &f->send.wr_id : &f->recv.wr_id))
		return false;
	if (!note_sent(r, f, event, alone)) {
		requests_undo(f->own, 1);
		return false;
	}
	if (__builtin_expect(post_request(f), 0)) {
		requests_undo(f->own, 1);
		if (f->takes_receive)
			requests_undo(&f->replica->qp->sent, 1);
		return false;
	}
	outcome_count_post(r->outcome, 1);
	return true;
}

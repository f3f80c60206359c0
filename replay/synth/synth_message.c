/*
 * Messages of the other end: what the recorded side received
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/device/dispatch.h"
#include "replay/synth/synth_priv.h"
#include "replay/process/process.h"
#include "replay/state/translate.h"

enum { GRH = 40 };

/* A message to be sent to the recorded side. */
struct message {
	const struct synth_plan *plan;
	struct event_id poll; /* the poll; its completion @index shows the message */
	uint32_t index, length, imm, flags;
	bool write, solicited;
	struct event_id request; /* the receive request that it consumes, if known */
	uint32_t cq;             /* the CQ on which it completes; 0: not known */
};

/* The region that @message is written to: one of the program with remote write access. */
static const struct ibv_mr *find_target(struct replay *r, const struct message *m)
{
	const struct object *qp = trace_object(r->trace, m->plan->object);

	for (uint32_t i = r->nmade; i-- > 0;) {
		const struct object *o = trace_object(r->trace, r->made[i]);
		const struct ibv_mr *mr = r->replicas[r->made[i]].handle;
		uint64_t access = 0;

		if (o->kind != OBJECT_mr || o->process != m->plan->process ||
		    o->parent != qp->parent || !mr || mr->length < m->length)
			continue;
		map_get(&r->far->access, o->id, &access);
		if (access & IBV_ACCESS_REMOTE_WRITE)
			return mr;
	}
	return NULL;
}

static void put_opcode(struct replay *r, const struct message *m, struct ibv_send_wr *wr)
{
	const struct ibv_mr *mr;

	wr->opcode = IBV_WR_SEND;
	if (m->flags & IBV_WC_WITH_IMM) {
		wr->opcode = m->write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM;
		wr->imm_data = htonl(m->imm);
	} else if (m->flags & IBV_WC_WITH_INV) {
		wr->opcode = IBV_WR_SEND_WITH_INV;
		wr->invalidate_rkey = translate_rkey(r, m->plan->process, m->imm);
	}
	if (!m->write)
		return;
	mr = find_target(r, m);
	wr->wr.rdma.remote_addr = mr ? (uintptr_t)mr->addr : 0;
	wr->wr.rdma.rkey = mr ? mr->rkey : 0;
}

/* Put the recorded bytes into the buffer: 1; 0 if the trace has none; or -errno. */
static int put_bytes(struct replay *r, struct synth_end *end, const struct message *m)
{
	struct payload payload;
	int found = r->contents && m->poll.thread
			    ? trace_payload(r->trace, m->poll, m->index, &payload)
			    : 0;
	uint64_t n;

	if (found <= 0 || payload.nbytes < payload.before)
		return found;
	n = payload.nbytes - payload.before;
	n = n < m->length ? n : m->length;
	memcpy(end->host->buffer, (const char *)payload.bytes + payload.before, n);
	return 1;
}

/* The replay's number of the SRQ that receives the message of an XRC queue pair. */
static uint32_t replayed_srqn(struct replay *r, const struct message *m)
{
	uint64_t id;
	const struct replica *srq;
	uint32_t number;
	uint64_t args[16] = { 0, (uintptr_t)&number };

	if (!map_get(&r->far->exclusives, m->cq, &id))
		return 0;
	srq = replica_of(r, (uint32_t)id);
	args[0] = srq ? (uintptr_t)srq->handle : 0;
	return args[0] && !dispatch_call(VERB_get_srq_num, args) ? number : 0;
}

static int await_sent(struct replay *r, struct synth_end *end, unsigned int most)
{
	int64_t deadline = synth_now() + r->options->timeout;

	synth_drain(end);
	while (end->unsent > most && !end->stuck && synth_wait(deadline))
		synth_drain(end);
	end->stuck = end->unsent > most;
	return 0;
}

static int send_message(struct replay *r, struct synth_end *end, const struct message *m)
{
	const struct replica *mine = replica_of(r, m->plan->object);
	struct ibv_sge sge = { .addr = (uintptr_t)end->host->buffer,
			       .length = m->length,
			       .lkey = end->host->buffer_mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = m->length ? 1 : 0 }, *bad;
	int filled, ret;

	if (end->dead || m->length > end->host->longest)
		return 0;
	filled = put_bytes(r, end, m);
	if (filled < 0)
		return filled;
	put_opcode(r, m, &wr);
	wr.send_flags = m->solicited ? IBV_SEND_SOLICITED : 0;
	if (m->plan->type == IBV_QPT_UD) {
		wr.wr.ud.ah = end->ah;
		wr.wr.ud.remote_qpn = mine->number;
		wr.wr.ud.remote_qkey = m->plan->qkey;
	} else if (m->plan->type == IBV_QPT_XRC_RECV) {
		wr.qp_type.xrc.remote_srqn = replayed_srqn(r, m);
	}
	synth_drain(end);
	ret = ibv_post_send(end->qp, &wr, &bad);
	if (ret == ENOMEM) {
		await_sent(r, end, 0);
		ret = ibv_post_send(end->qp, &wr, &bad);
	}
	if (ret)
		return log_err(-ret, "send as the synthesized peer of %s",
			       trace_object(r->trace, m->plan->object)->name);
	end->unsent++;
	end->host->messages++;
	end->host->placed += m->write && m->length;
	if (filled)
		await_sent(r, end, 0);
	return 0;
}

static struct synth_end *end_of(struct replay *r, struct synth_plan *plan, uint32_t src_qp)
{
	return plan->type == IBV_QPT_UD ? synth_datagram_end(r, plan, src_qp) : plan->ends;
}

/* Choose a length that exceeds the receive @request. */
static uint32_t choose_excess_length(struct replay *r, const struct synth_plan *plan,
				     struct event_id request)
{
	const struct requests *out = &replica_of(r, plan->object)->qp->out[SIDE_RECV];

	for (uint32_t at = out->head; at != out->tail; at++) {
		const struct request *req = &out->cells[at & (out->size - 1)];

		if (!req->done && event_key(req->event) == event_key(request))
			return req->length + 1;
	}
	return 1;
}

/* Was the message sent before an event that announced it? It counts as sent from now on. */
static bool is_sent(struct replay *r, const struct trace_event *event, uint32_t index)
{
	bool sent;
	uint64_t i;

	if (!map_get(&r->far->early_of, event_part_key(event->id, index), &i))
		return false;
	sent = r->far->early[i - 1].sent;
	r->far->early[i - 1].sent = true;
	return sent;
}

/* The message to be sent for @early. */
static struct message message_of(struct replay *r, struct synth_plan *plan,
				 const struct synth_early *early)
{
	uint32_t grh = plan->type == IBV_QPT_UD ? GRH : 0;
	struct message m = { .plan = plan,
			     .poll = early->poll,
			     .index = early->index,
			     .length = early->length < grh ? 0 : early->length - grh,
			     .imm = early->imm,
			     .flags = early->flags,
			     .write = early->write,
			     .solicited = early->solicited,
			     .cq = early->cq };

	if (early->status == IBV_WC_SUCCESS)
		return m;
	m.length = early->status == IBV_WC_LOC_LEN_ERR
			   ? choose_excess_length(r, plan, early->request)
			   : 1;
	m.flags = 0;
	m.write = false;
	return m;
}

static int send_for_completion(struct replay *r, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct synth_plan *plan = synth_plan_of(r, wc->qp);
	const struct synth_early early = { .poll = event->id,
					   .index = index,
					   .cq = event->poll->object,
					   .request = wc->request,
					   .length = wc->byte_len,
					   .imm = wc->imm,
					   .flags = (uint16_t)wc->wc_flags,
					   .status = wc->status,
					   .write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM };
	struct synth_end *end;
	struct message m;
	uint64_t taken;

	if (!plan)
		return 0;
	if (wc->status == IBV_WC_SUCCESS
		    ? !(wc->opcode & IBV_WC_RECV)
		    : !map_get(&r->far->taken, event_part_key(event->id, index), &taken) ||
			      !replica_of(r, plan->object)->qp)
		return 0;
	end = end_of(r, plan, wc->src_qp);
	if (!end || is_sent(r, event, index))
		return 0;
	m = message_of(r, plan, &early);
	return send_message(r, end, &m);
}

int synth_before_poll(struct replay *r, const struct trace_event *event)
{
	int err = 0;

	for (uint32_t i = 0; i < event->poll->nwc && !err; i++)
		err = send_for_completion(r, event, i);
	return err;
}

/* Is an asynchronous event of queue pair @object waiting to be read? */
static bool has_async_event(const struct replay *r, uint32_t object)
{
	const struct ibv_qp *qp = r->replicas[object].handle;

	return qp && process_has_async_event(qp->context);
}

static int send_early(struct replay *r, struct synth_early *early)
{
	struct synth_plan *plan = synth_plan_of(r, early->qp);
	struct synth_end *end = plan ? end_of(r, plan, early->src_qp) : NULL;
	struct message m;

	if (!end || early->sent || !replica_of(r, plan->object)->qp)
		return 0;
	early->sent = true;
	m = message_of(r, plan, early);
	return send_message(r, end, &m);
}

/*
 * Make the recorded queue pair fail, by a request that it refuses: a key that it does not have, or
 * an atomic at an odd address.
 */
static int send_refused(struct replay *r, struct synth_plan *plan)
{
	struct synth_end *end = plan->ends;
	bool write = plan->access & IBV_ACCESS_REMOTE_WRITE;
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ };
	struct ibv_sge sge = { .length = 8 };
	int ret;

	if (!end || end->dead)
		return 0;
	sge.addr = (uintptr_t)end->host->buffer + end->host->longest;
	sge.lkey = end->host->buffer_mr->lkey;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (write)
		wr.opcode = IBV_WR_RDMA_WRITE;
	if (plan->breaks == IBV_EVENT_QP_REQ_ERR)
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.rdma.remote_addr = 4;
	if (plan->breaks == IBV_EVENT_QP_REQ_ERR)
		wr.wr.atomic.remote_addr = 4;
	ret = ibv_post_send(end->qp, &wr, &bad);
	if (ret)
		return log_err(-ret, "send a message that %s refuses",
			       trace_object(r->trace, plan->object)->name);
	end->unsent++;
	await_sent(r, end, 0);
	end->dead = true;
	return 0;
}

static int break_queue_pair(struct replay *r, const struct synth_break *cause)
{
	struct synth_plan *plan = synth_plan_of(r, cause->qp);
	int err;

	if (!plan || !plan->ends || cause->needless)
		return 0;
	if (!cause->message)
		return send_refused(r, plan);
	err = send_early(r, &r->far->early[cause->message - 1]);
	await_sent(r, plan->ends, 0);
	return err;
}

/* Wait until the messages have arrived that must arrive before the event. */
static void await_due_messages(struct replay *r, uint32_t at)
{
	for (; at; at = r->far->dues[at - 1].next) {
		const struct synth_due *due = &r->far->dues[at - 1];
		const struct synth_early *early =
			due->message ? &r->far->early[due->message - 1] : NULL;
		struct synth_plan *plan = early ? synth_plan_of(r, early->qp) : NULL;
		struct synth_end *end =
			plan && due->awaited ? end_of(r, plan, early->src_qp) : NULL;

		if (end)
			await_sent(r, end, 0);
	}
}

/* Does the event's list contain messages that must have arrived, or a failure, its last element? */
bool synth_needs_all_before(const void *replay, struct event_id event)
{
	const struct replay *r = replay;
	uint64_t list;
	bool all = false;

	if (!r->far || !map_get(&r->far->due_at, event_key(event), &list))
		return false;
	for (uint32_t at = r->far->due_lists[list - 1].first; at && !all;
	     at = r->far->dues[at - 1].next)
		all = r->far->dues[at - 1].cause || r->far->dues[at - 1].awaited;
	return all;
}

int synth_before_due(struct replay *r, const struct trace_event *event)
{
	uint32_t first, at;
	uint64_t list;
	int err = 0;

	if (!map_get(&r->far->due_at, event_key(event->id), &list))
		return 0;
	first = at = r->far->due_lists[list - 1].first;
	for (; at && r->far->dues[at - 1].message && !err; at = r->far->dues[at - 1].next) {
		const struct synth_due *due = &r->far->dues[at - 1];
		struct synth_early *early = &r->far->early[due->message - 1];

		if (due->limit && has_async_event(r, early->qp))
			return 0;
		err = send_early(r, early);
	}
	await_due_messages(r, first);
	for (; at && !err; at = r->far->dues[at - 1].next)
		err = break_queue_pair(r, &r->far->breaks[r->far->dues[at - 1].cause - 1]);
	return err;
}

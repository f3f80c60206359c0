/*
 * What the other end did, done just before the recorded event that shows it
 *
 *	recorded                          made end, before it
 *	post of a send                    posts a receive that fits
 *	  ... that got RNR_RETRY_EXC      posts no more
 *	  ... that got REM_INV_REQ_ERR    posts one that is too short
 *	  ... that got RETRY_EXC_ERR      is gone
 *	post of a read, an atomic         puts there what came, where its bytes were recorded
 *	poll of a received message        sends it: length, immediate data, invalidated key, bytes
 *	event that told of it             the same, if the event came before the poll
 *
 * Not here: queue pairs (made_end.c), memory (made_memory.c), what is known ahead
 * (made_learn.c). What the other end wrote into our memory, or read from it, without a
 * completion is in no trace of ours: the report says so.
 */
#include "replay/made.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/inferred.h"
#include "replay/made_priv.h"
#include "replay/translate.h"

enum { GRH = 40 };

int made_init(struct replay *r)
{
	struct made *far = calloc(1, sizeof(*far));

	if (!far)
		return -ENOMEM;
	pthread_mutex_init(&far->lock, NULL);
	far->plans = calloc(r->nreplicas, sizeof(struct made_plan *));
	r->far = far;
	return far->plans ? 0 : -ENOMEM;
}

static void free_plan(struct made_plan *plan)
{
	if (!plan)
		return;
	while (plan->ends) {
		struct made_end *end = plan->ends;

		plan->ends = end->next;
		made_free_end(end);
	}
	free(plan->links);
	free(plan->open);
	free(plan);
}

void made_fini(struct replay *r)
{
	struct made *far = r->far;

	if (!far)
		return;
	for (uint32_t i = 0; far->plans && i < r->nreplicas; i++)
		free_plan(far->plans[i]);
	for (size_t i = 0; i < far->nhosts; i++)
		made_close(&far->hosts[i]);
	map_fini(&far->closes);
	map_fini(&far->failed);
	map_fini(&far->taken);
	map_fini(&far->reads);
	map_fini(&far->early_at);
	map_fini(&far->access);
	map_fini(&far->exclusives);
	map_fini(&far->av_of);
	free(far->plans);
	free(far->hosts);
	free(far->early);
	free(far->fetched);
	free(far->avs);
	pthread_mutex_destroy(&far->lock);
	free(far);
	r->far = NULL;
}

uint64_t made_bytes(const struct replay *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; r->far && i < r->far->nhosts; i++)
		if (__builtin_add_overflow(bytes, made_host_bytes(&r->far->hosts[i]), &bytes))
			return UINT64_MAX;
	return bytes;
}

bool made_has(const struct replay *r, uint32_t object)
{
	const struct made_plan *plan = made_plan_of(r, object);

	return plan && plan->ends;
}

/*
 * Wait for the device alone: nothing recorded is waited for, so no other thread is let in
 * (pace_wait()). False after @deadline.
 */
static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static bool wait_for_device(int64_t deadline)
{
	sched_yield();
	return now_ns() < deadline;
}

/* Post until there is room: what is complete is polled. Returns the verb's result. */
static int post_receive_patiently(struct replay *r, struct made_end *end, struct ibv_srq *srq,
				  struct ibv_recv_wr *wr)
{
	int64_t deadline = now_ns() + r->options->timeout;
	struct ibv_recv_wr *bad;
	int ret;

	do {
		ret = srq ? ibv_post_srq_recv(srq, wr, &bad) : ibv_post_recv(end->qp, wr, &bad);
		if (ret != ENOMEM)
			break;
		made_drain(end);
	} while (wait_for_device(deadline));
	return ret;
}

static bool takes_receive(const struct wr *wr)
{
	return wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
	       wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static uint64_t length_of(const struct wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

/* The receive that request @wr will fill, and that makes it end with @status. */
static int post_receive(struct replay *r, struct made_end *end, const struct wr *wr, int status)
{
	struct made_host *host = end->host;
	struct made_srq *srq = NULL;
	struct ibv_sge sge = { .addr = (uintptr_t)host->buffer + host->longest,
			       .length = (uint32_t)host->longest,
			       .lkey = host->buffer_mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };

	if (end->qp->qp_type == IBV_QPT_XRC_RECV) {
		srq = made_srq_of(end, wr->remote_srqn);
		if (!srq)
			return -EOPNOTSUPP;
	}
	if (status == IBV_WC_REM_INV_REQ_ERR && length_of(wr))
		sge.length = (uint32_t)length_of(wr) - 1;
	else if (status == IBV_WC_REM_OP_ERR)
		sge.lkey = ~host->buffer_mr->lkey;
	host->receives++;
	return -post_receive_patiently(r, end, srq ? srq->srq : NULL, &recv);
}

static void kill_end(struct made_end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (end->dead)
		return;
	made_drain(end);
	ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
	end->dead = true;
}

/* Reads and the like end in REM_INV_REQ_ERR where the queue pair allows none. */
static void close_end(struct made_end *end)
{
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };

	if (!end->closed)
		ibv_modify_qp(end->qp, &attr, IBV_QP_ACCESS_FLAGS);
	end->closed = true;
}

static int before_request(struct replay *r, struct made_end *end, const struct trace_event *event,
			  uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];
	uint64_t status = IBV_WC_SUCCESS;

	map_get(&r->far->failed, made_key(event->id, index), &status);
	if (status == IBV_WC_RETRY_EXC_ERR)
		kill_end(end);
	if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		end->deaf = true;
	if (end->dead)
		return 0;
	if (wr->opcode == IBV_WR_SEND_WITH_INV && status == IBV_WC_SUCCESS &&
	    made_bind(r, end, event, index))
		return -EIO;
	if (takes_receive(wr))
		return end->deaf ? 0 : post_receive(r, end, wr, (int)status);
	if (status == IBV_WC_REM_INV_REQ_ERR)
		close_end(end);
	return made_fill(r, end, event, index);
}

static int before_post(struct replay *r, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct made_plan *plan = made_plan_of(r, post->object);
	struct made_end *end = plan ? plan->ends : NULL;
	int err = 0;

	if (!plan || !post_is_send(post))
		return 0;
	for (uint32_t i = 0; i < post_taken(post) && !err; i++) {
		if (plan->type == IBV_QPT_UD)
			end = made_datagram_end(r, plan, post->wr[i].remote_qpn);
		if (end)
			err = before_request(r, end, event, i);
	}
	return err;
}

/* A message to be sent to the recorded side. */
struct message {
	const struct made_plan *plan;
	struct event_id poll; /* completion @index of it */
	uint32_t index, length, imm, flags;
	bool write, solicited;
	struct event_id request; /* that it fills, where that is known */
	uint32_t cq;             /* where it completes; 0: not known */
};

/* The region that @message is written to: one of the program that it may be written to. */
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

/* Put the recorded bytes into the buffer; afterwards the pattern, which the next message may be. */
static int put_bytes(struct replay *r, struct made_end *end, const struct message *m)
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

/* The number here of the shared receive queue that the message of an XRC queue pair is for. */
static uint32_t srqn_here(struct replay *r, const struct message *m)
{
	uint64_t id;
	const struct replica *srq;
	uint32_t number;

	if (!map_get(&r->far->exclusives, m->cq, &id))
		return 0;
	srq = replica_of(r, (uint32_t)id);
	return srq && srq->handle && !ibv_get_srq_num(srq->handle, &number) ? number : 0;
}

static int await_sent(struct replay *r, struct made_end *end, unsigned int most)
{
	int64_t deadline = now_ns() + r->options->timeout;

	made_drain(end);
	while (end->unsent > most && wait_for_device(deadline))
		made_drain(end);
	return 0;
}

static int send_message(struct replay *r, struct made_end *end, const struct message *m)
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
		wr.qp_type.xrc.remote_srqn = srqn_here(r, m);
	}
	made_drain(end);
	ret = ibv_post_send(end->qp, &wr, &bad);
	if (ret == ENOMEM) {
		await_sent(r, end, 0);
		ret = ibv_post_send(end->qp, &wr, &bad);
	}
	if (ret)
		return log_err(-ret, "send as the other end of %s",
			       trace_object(r->trace, m->plan->object)->name);
	end->unsent++;
	end->host->messages++;
	end->host->placed += m->write && m->length;
	if (filled)
		await_sent(r, end, 0);
	return 0;
}

static struct made_end *end_of(struct replay *r, struct made_plan *plan, uint32_t src_qp)
{
	return plan->type == IBV_QPT_UD ? made_datagram_end(r, plan, src_qp) : plan->ends;
}

/* More than the receive holds. */
static uint32_t too_much(struct replay *r, const struct made_plan *plan, struct event_id request)
{
	const struct requests *out = &replica_of(r, plan->object)->qp->out[SIDE_RECV];

	for (uint32_t at = out->head; at != out->tail; at++) {
		const struct request *req = &out->cells[at & (out->size - 1)];

		if (!req->done && event_key(req->event) == event_key(request))
			return req->length + 1;
	}
	return 1;
}

static int before_completion(struct replay *r, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct made_plan *plan = made_plan_of(r, wc->qp);
	uint32_t grh = plan && plan->type == IBV_QPT_UD ? GRH : 0;
	struct message m = { .plan = plan,
			     .poll = event->id,
			     .index = index,
			     .length = wc->byte_len < grh ? 0 : wc->byte_len - grh,
			     .imm = wc->imm,
			     .flags = wc->wc_flags,
			     .write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM,
			     .cq = event->poll->object };
	struct made_end *end;
	uint64_t taken;

	if (!plan)
		return 0;
	if (wc->status != IBV_WC_SUCCESS) {
		if (!map_get(&r->far->taken, made_key(event->id, index), &taken))
			return 0;
		m.length = wc->status == IBV_WC_LOC_LEN_ERR ? too_much(r, plan, wc->request) : 1;
		m.flags = 0;
		m.write = false;
	} else if (!(wc->opcode & IBV_WC_RECV)) {
		return 0;
	}
	if (plan->ahead) {
		plan->ahead--;
		return 0;
	}
	end = end_of(r, plan, wc->src_qp);
	return end ? send_message(r, end, &m) : 0;
}

static int before_poll(struct replay *r, const struct trace_event *event)
{
	int err = 0;

	for (uint32_t i = 0; i < event->poll->nwc && !err; i++)
		err = before_completion(r, event, i);
	return err;
}

/* An event that told of messages before they were polled. */
static int before_return(struct replay *r, const struct trace_event *event)
{
	uint64_t at = 0;
	int err = 0;

	map_get(&r->far->early_at, event_key(event->id), &at);
	while (at && !err) {
		const struct made_early *early = &r->far->early[at - 1];
		struct made_plan *plan = made_plan_of(r, early->qp);
		uint32_t grh = plan && plan->type == IBV_QPT_UD ? GRH : 0;
		struct made_end *end = plan ? end_of(r, plan, early->src_qp) : NULL;
		struct message m = { .plan = plan,
				     .poll = early->poll,
				     .index = early->index,
				     .length = early->length < grh ? 0 : early->length - grh,
				     .imm = early->imm,
				     .flags = early->flags,
				     .write = early->write,
				     .solicited = early->solicited };

		at = early->next;
		if (!end)
			continue;
		plan->ahead++;
		err = send_message(r, end, &m);
	}
	return err;
}

int made_before(struct replay *r, const struct trace_event *event)
{
	int err = 0;

	if (!r->far || event->inner)
		return 0;
	pthread_mutex_lock(&r->far->lock);
	if (event->kind == TRACE_POST)
		err = before_post(r, event);
	else if (event->kind == TRACE_POLL)
		err = before_poll(r, event);
	else if (event->kind == TRACE_RETURN)
		err = before_return(r, event);
	pthread_mutex_unlock(&r->far->lock);
	return err;
}

static int report_ranges(const struct made_host *host, struct inferred *to)
{
	to->regions = host->nregions;
	for (size_t i = 0; i < host->nregions; i++)
		for (size_t k = 0; k < host->regions[i].nranges; k++) {
			const struct made_region *region = &host->regions[i];
			struct inferred_range *range = vec_push(to->ranges, to->nranges);

			if (!range)
				return -ENOMEM;
			*range = (struct inferred_range){ region->rkey, region->access,
							  region->ranges[k].start,
							  region->ranges[k].end -
								  region->ranges[k].start };
		}
	return 0;
}

static int report_host(const struct made_host *host, struct inferred_list *list)
{
	struct inferred *to = vec_push(list->at, list->n);

	if (!to)
		return -ENOMEM;
	to->queue_pairs = host->nends;
	to->receives = host->receives;
	to->messages = host->messages;
	to->placed = host->placed;
	if (host->lid || !host->global)
		snprintf(to->address, sizeof(to->address), "LID %u", host->lid);
	else if (!inet_ntop(AF_INET6, &host->gid, to->address, sizeof(to->address)))
		to->address[0] = '\0';
	return report_ranges(host, to);
}

/* Regions that the other end of a queue pair of that domain could write to or read from. */
static uint64_t count_open(const struct replay *r)
{
	uint64_t access, n = 0;

	for (uint32_t i = 0; i < r->nmade; i++) {
		const struct object *o = trace_object(r->trace, r->made[i]);

		if (o->kind == OBJECT_mr && map_get(&r->far->access, o->id, &access) &&
		    access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			      IBV_ACCESS_REMOTE_ATOMIC))
			n++;
	}
	return n;
}

int made_report(struct replay *r)
{
	struct inferred_list list = { 0 };
	int err = 0;

	for (size_t i = 0; r->far && i < r->far->nhosts && !err; i++)
		if (r->far->hosts[i].nends)
			err = report_host(&r->far->hosts[i], &list);
	if (list.n)
		list.open = count_open(r);
	outcome_inferred(r->outcome, &list);
	return err;
}

/*
 * Repeat the actions of the other end, each just before the recorded event that shows it
 *
 *	recorded                          synthesized end, before it
 *	post of a send                    posts a receive that fits
 *	  ... that got RNR_RETRY_EXC      posts no more
 *	  ... that got REM_INV_REQ_ERR    posts one that is too short
 *	  ... that got RETRY_EXC_ERR      no longer answers
 *	  ... that was flushed            posts none for it
 *	post of a read, an atomic         writes the result to its memory, if it was recorded
 *	poll of a received message        sends it: length, immediate data, invalidated key, bytes
 *	event that announced it           the same, if the event came before the poll
 *	event after which none arrived    the same (synth_stop.c)
 *
 * Not here: messages (synth_message.c), queue pairs (synth_end.c), memory (synth_memory.c), what is
 * known ahead (synth_learn.c). RDMA writes and reads of the other end to recorded memory without a
 * completion are not in the trace: the report says so.
 */
#include "replay/synth/synth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/operation.h"
#include "core/wire/log.h"
#include "replay/synth/synth_priv.h"

int synth_init(struct replay *r)
{
	struct synthesized *far = calloc(1, sizeof(*far));

	if (!far)
		return -ENOMEM;
	pthread_mutex_init(&far->lock, NULL);
	far->plans = calloc(r->nreplicas, sizeof(struct synth_plan *));
	r->far = far;
	return far->plans ? 0 : -ENOMEM;
}

static void free_plan(struct synth_plan *plan)
{
	if (!plan)
		return;
	while (plan->ends) {
		struct synth_end *end = plan->ends;

		plan->ends = end->next;
		synth_free_end(end);
	}
	free(plan->links);
	free(plan->open);
	free(plan->life.recent);
	free(plan);
}

void synth_fini(struct replay *r)
{
	struct synthesized *far = r->far;

	if (!far)
		return;
	for (uint32_t i = 0; far->plans && i < r->nreplicas; i++)
		free_plan(far->plans[i]);
	for (size_t i = 0; i < far->nhosts; i++)
		synth_close(&far->hosts[i]);
	map_fini(&far->closes);
	map_fini(&far->failed);
	map_fini(&far->taken);
	map_fini(&far->reads);
	map_fini(&far->early_of);
	map_fini(&far->due_at);
	map_fini(&far->access);
	map_fini(&far->exclusives);
	map_fini(&far->av_of);
	free(far->plans);
	free(far->hosts);
	free(far->early);
	free(far->breaks);
	free(far->dues);
	free(far->due_lists);
	free(far->fetched);
	free(far->avs);
	pthread_mutex_destroy(&far->lock);
	free(far);
	r->far = NULL;
}

uint64_t synth_bytes(const struct replay *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; r->far && i < r->far->nhosts; i++)
		if (__builtin_add_overflow(bytes, synth_host_bytes(&r->far->hosts[i]), &bytes))
			return UINT64_MAX;
	return bytes;
}

bool synth_has(const struct replay *r, uint32_t object)
{
	const struct synth_plan *plan = synth_plan_of(r, object);

	return plan && plan->ends;
}

/* Post; while the queue is full, poll completed requests. Returns the verb's result. */
static int post_receive_patiently(struct replay *r, struct synth_end *end, struct ibv_srq *srq,
				  struct ibv_recv_wr *wr)
{
	int64_t deadline = synth_now() + r->options->timeout;
	struct ibv_recv_wr *bad;
	int ret;

	do {
		ret = srq ? ibv_post_srq_recv(srq, wr, &bad) : ibv_post_recv(end->qp, wr, &bad);
		if (ret != ENOMEM)
			break;
		synth_drain(end);
	} while (synth_wait(deadline));
	return ret;
}

static uint64_t length_of(const struct wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

/* Post the receive that request @wr will fill, so that @wr ends with @status. */
static int post_receive(struct replay *r, struct synth_end *end, const struct wr *wr, int status)
{
	struct synth_host *host = end->host;
	struct synth_srq *srq = NULL;
	struct ibv_sge sge = { .addr = (uintptr_t)host->buffer + host->longest,
			       .length = (uint32_t)host->longest,
			       .lkey = host->buffer_mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };

	if (end->qp->qp_type == IBV_QPT_XRC_RECV) {
		srq = synth_srq_of(end, wr->remote_srqn);
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

static void kill_end(struct synth_end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (end->dead)
		return;
	synth_drain(end);
	ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
	end->dead = true;
}

/* Forbid RDMA reads, writes and atomics at @end, so that a request ends in REM_INV_REQ_ERR. */
static void close_end(struct synth_end *end)
{
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };

	if (!end->closed)
		ibv_modify_qp(end->qp, &attr, IBV_QP_ACCESS_FLAGS);
	end->closed = true;
}

static int prepare_peer_request(struct replay *r, struct synth_end *end,
				const struct trace_event *event, uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];
	uint64_t status = IBV_WC_SUCCESS;

	map_get(&r->far->failed, event_part_key(event->id, index), &status);
	if (status == IBV_WC_RETRY_EXC_ERR)
		kill_end(end);
	if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		end->deaf = true;
	if (end->dead)
		return 0;
	if (wr->opcode == IBV_WR_SEND_WITH_INV && status == IBV_WC_SUCCESS &&
	    synth_bind(r, end, event, index))
		return -EIO;
	if (operation_takes_receive(wr->opcode))
		return end->deaf || status == IBV_WC_WR_FLUSH_ERR
			       ? 0
			       : post_receive(r, end, wr, (int)status);
	if (status == IBV_WC_REM_INV_REQ_ERR)
		close_end(end);
	return synth_fill_message(r, end, event, index);
}

static int prepare_peer_post(struct replay *r, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct synth_plan *plan = synth_plan_of(r, post->object);
	struct synth_end *end = plan ? plan->ends : NULL;
	int err = 0;

	if (!plan || !post_is_send(post))
		return 0;
	for (uint32_t i = 0; i < post_taken(post) && !err; i++) {
		if (plan->type == IBV_QPT_UD)
			end = synth_datagram_end(r, plan, post->wr[i].remote_qpn);
		if (end)
			err = prepare_peer_request(r, end, event, i);
	}
	return err;
}

int synth_prepare(struct replay *r, const struct trace_event *event)
{
	int err;

	if (!r->far || event->inner)
		return 0;
	pthread_mutex_lock(&r->far->lock);
	err = synth_before_due(r, event);
	if (!err && event->kind == TRACE_POST)
		err = prepare_peer_post(r, event);
	else if (!err && event->kind == TRACE_POLL)
		err = synth_before_poll(r, event);
	pthread_mutex_unlock(&r->far->lock);
	return err;
}

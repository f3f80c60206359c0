/*
 * What posts and completions show of the other ends
 *
 * A request is stored until it ends: a successful one names memory, a failed one is noted with its
 * status. On a send queue all requests before a completed one have succeeded.
 */
#include <errno.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/model/operation.h"
#include "replay/synth/synth_pass.h"
#include "replay/two_host/pair.h"
#include "replay/state/recorded.h"

enum { PAGE = 4096, GRH = 40, MULTICAST = 0xffffff };

/* Longer than any valid message: the length comes from a damaged trace. */
#define LONGEST (1ull << 31)

static void note_length(struct synth_host *host, uint64_t length)
{
	length = (length + PAGE - 1) & ~(PAGE - 1ull);
	if (length > host->longest && length <= LONGEST)
		host->longest = length;
}

/* Note datagrams to or from queue pair @qpn at @av (NULL: not known), which is not in the trace. */
static int note_datagrams(struct pass *p, struct synth_plan *plan, uint32_t qpn,
			  const struct ibv_ah_attr *av, uint64_t length)
{
	struct synth_link *link = plan->links;

	while (link < plan->links + plan->nlinks && link->number != qpn)
		link++;
	if (link == plan->links + plan->nlinks) {
		link = vec_push(plan->links, plan->nlinks);
		if (!link)
			return -ENOMEM;
		link->host = synth_host_at(p, plan, av);
		link->number = qpn;
	}
	if (av && av->is_global)
		link->av = *av;
	if (!link->host)
		return -ENOMEM;
	note_length(&p->far->hosts[link->host - 1], length + GRH);
	plan->needed = true;
	return 0;
}

static uint64_t length_of(const struct wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

/* The address in a recorded address handle; NULL: not known. */
static const struct ibv_ah_attr *find_av(const struct pass *p, const struct trace_event *event,
					 uint64_t handle)
{
	const struct object *ah =
		trace_object_at(p->r->trace, event->process, OBJECT_ah, handle, event->time);
	uint64_t i;

	return ah && map_get(&p->far->av_of, ah->id, &i) ? &p->far->avs[i - 1] : NULL;
}

static struct synth_link *find_link(const struct synth_plan *plan, uint32_t number)
{
	for (size_t i = 0; i < plan->nlinks; i++)
		if (plan->links[i].number == number)
			return &plan->links[i];
	return NULL;
}

static int learn_datagram(struct pass *p, struct synth_plan *plan, const struct trace_event *event,
			  const struct wr *wr)
{
	const struct ibv_ah_attr *av = find_av(p, event, wr->ah);
	uint32_t peer;
	int err;

	if (wr->remote_qpn == MULTICAST || wr->remote_qpn <= 1)
		return 0;
	peer = recorded_datagram(p->r, plan->object, wr->remote_qpn, av, event->time);
	if (peer && p->far->plans[peer])
		p->far->plans[peer]->sent_to++;
	if (peer || pair_has_datagram(p->r, wr->remote_qpn, av))
		return 0;
	err = note_datagrams(p, plan, wr->remote_qpn, av, length_of(wr));
	if (!err)
		find_link(plan, wr->remote_qpn)->named = true;
	return err;
}

static int open_request(struct synth_plan *plan, const struct trace_event *event, uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];

	if (plan->first && plan->first * 2 >= plan->nopen) {
		plan->nopen -= plan->first;
		memmove(plan->open, plan->open + plan->first, plan->nopen * sizeof(*plan->open));
		plan->first = 0;
	}
	if (vec_reserve(plan->open, plan->room, plan->nopen + 1))
		return -ENOMEM;
	plan->open[plan->nopen++] = (struct synth_request){ .event = event_key(event->id),
							    .index = index,
							    .opcode = wr->opcode,
							    .rkey = wr->rkey,
							    .addr = wr->remote_addr,
							    .length = length_of(wr),
							    .post = event->id,
							    .time = event->time };
	return 0;
}

static void note_receives(struct pass *p, const struct post *post)
{
	for (uint32_t i = 0; i < post->nwr; i++)
		if (length_of(&post->wr[i]) > p->longest)
			p->longest = length_of(&post->wr[i]);
}

static int learn_post(struct pass *p, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct synth_plan *plan =
		post->object < p->r->nreplicas ? p->far->plans[post->object] : NULL;
	struct synth_host *host = plan ? synth_host_now(p, plan) : NULL;
	int err = 0;
	if (!post_is_send(post))
		note_receives(p, post);
	if (!plan || !post_is_send(post))
		return 0;
	for (uint32_t i = 0; i < post_taken(post) && !err; i++) {
		if (plan->type == IBV_QPT_UD) {
			err = learn_datagram(p, plan, event, &post->wr[i]);
		} else if (host) {
			note_length(host, length_of(&post->wr[i]));
			host->bind |= post->wr[i].opcode == IBV_WR_SEND_WITH_INV;
			err = open_request(plan, event, i);
		}
	}
	return err;
}

int synth_close_requests(struct pass *p, struct synth_plan *plan, size_t end)
{
	struct synth_host *host = synth_host_now(p, plan);
	int err = 0;

	for (; plan->first < end && !err; plan->first++) {
		const struct synth_request *request = &plan->open[plan->first];
		int access = (int)operation_needs_remote(request->opcode);

		if (access && host)
			err = synth_add_range(host, request->rkey, request->addr, request->length,
					      access);
	}
	return err;
}

/* The index of the request that @wc completes among the open ones, or SIZE_MAX. */
static size_t find_request(const struct synth_plan *plan, const struct wc *wc)
{
	for (size_t i = plan->first; wc->request.thread && i < plan->nopen; i++)
		if (plan->open[i].event == event_key(wc->request) &&
		    plan->open[i].index == wc->request_index)
			return i;
	return SIZE_MAX;
}

static int note_fetched(struct pass *p, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct synth_fetch *fetch;

	if (!p->r->contents || wc->status != IBV_WC_SUCCESS ||
	    (wc->opcode != IBV_WC_RDMA_READ && wc->opcode != IBV_WC_COMP_SWAP &&
	     wc->opcode != IBV_WC_FETCH_ADD))
		return 0;
	fetch = vec_push(p->far->fetched, p->far->nfetched);
	if (!fetch)
		return -ENOMEM;
	*fetch = (struct synth_fetch){ event->id, index };
	return map_put(&p->far->reads, event_part_key(wc->request, wc->request_index),
		       p->far->nfetched);
}

/* Request @at of the open ones has failed. */
static int learn_failed_request(struct pass *p, struct synth_plan *plan, const struct wc *wc,
				size_t at)
{
	bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR;
	int opcode = plan->open[at].opcode;
	int err = synth_close_requests(p, plan, at);

	plan->first = plan->nopen; /* the requests after it are flushed */
	if (err || (flushed && !operation_takes_receive(opcode)))
		return err;
	return map_put(&p->far->failed, event_part_key(wc->request, wc->request_index),
		       (uint64_t)wc->status);
}

/* Learn from a completion of a queue pair that is connected to a synthesized end. */
static int learn_connected(struct pass *p, struct synth_plan *plan, const struct trace_event *event,
			   uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	size_t at = find_request(plan, wc);
	bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR;

	if (wc->status == IBV_WC_SUCCESS && at != SIZE_MAX) {
		plan->life.alive = plan->open[at].time;
		return synth_close_requests(p, plan, at + 1) ?: note_fetched(p, event, index);
	}
	if (wc->status == IBV_WC_SUCCESS) {
		if (!(wc->opcode & IBV_WC_RECV))
			return 0;
		note_length(synth_host_now(p, plan), wc->byte_len);
		return synth_stop_note_message(p, plan, event, index);
	}
	if (synth_stop_note_failed(p, plan, event, index, at == SIZE_MAX ? NULL : &plan->open[at]))
		return -ENOMEM;
	if (at != SIZE_MAX)
		return learn_failed_request(p, plan, wc, at);
	if (flushed)
		return 0;
	note_length(synth_host_now(p, plan), p->longest + 1);
	return map_put(&p->far->taken, event_part_key(event->id, index), 1);
}

/*
 * Did queue pair @peer of the trace send the datagram? If @peer is the receiver itself, and no
 * queue pair of the trace has sent it as many datagrams as it received: no, two hosts have the same
 * number.
 */
static bool is_from_trace(const struct synth_plan *plan, uint32_t peer)
{
	return peer && (peer != plan->object || plan->sent_to > plan->heard);
}

static int learn_received_datagram(struct pass *p, struct synth_plan *plan,
				   const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	const struct ibv_ah_attr av = { .dlid = wc->slid };
	int err;

	if (wc->status != IBV_WC_SUCCESS || !(wc->opcode & IBV_WC_RECV) || wc->src_qp <= 1)
		return 0;
	if (is_from_trace(plan,
			  recorded_datagram(p->r, plan->object, wc->src_qp, &av, event->time))) {
		plan->heard++;
		return 0;
	}
	if (pair_has_datagram(p->r, wc->src_qp, NULL))
		return 0;
	err = note_datagrams(p, plan, wc->src_qp, &av, wc->byte_len);
	if (err)
		return err;
	find_link(plan, wc->src_qp)->heard++;
	return synth_stop_note_message(p, plan, event, index);
}

static int learn_poll(struct pass *p, const struct trace_event *event)
{
	int err = synth_learn_announced(p, event);

	for (uint32_t i = 0; i < event->poll->nwc && !err; i++) {
		const struct wc *wc = &event->poll->wc[i];
		struct synth_plan *plan = synth_plan_now(p, wc->qp);

		if (plan)
			err = plan->type == IBV_QPT_UD ? learn_received_datagram(p, plan, event, i)
						       : learn_connected(p, plan, event, i);
	}
	return err;
}

static int learn_connection(struct pass *p, const struct call *call)
{
	struct synth_plan *plan =
		call->object < p->r->nreplicas ? p->far->plans[call->object] : NULL;
	int64_t value;

	if (!plan || plan->type == IBV_QPT_UD ||
	    !args_get(call->args, ARG(attr.dest_qp_num), &value))
		return 0;
	if (plan->at < plan->nlinks)
		plan->at++;
	return 0;
}

int synth_learn_event(struct pass *p, const struct trace_event *event)
{
	const struct call *call = event->call;

	synth_stop_note_event(p, event);
	if (event->inner)
		return 0;
	switch (event->kind) {
	case TRACE_POST:
		return learn_post(p, event);
	case TRACE_POLL:
		return learn_poll(p, event);
	case TRACE_NOTIFY:
		if (event->notify->object < p->r->nreplicas)
			p->announcements[event->notify->object].solicited =
				event->notify->solicited_only;
		return 0;
	case TRACE_CALL:
		if (call->verb == VERB_modify_qp && !call->failed && !call->ours && !call->depth)
			return synth_stop_note_call(p, event) ?: learn_connection(p, call);
		return 0;
	case TRACE_RETURN:
		return synth_stop_note_call(p, event) ?: synth_learn_return(p, event);
	default:
		return 0;
	}
}

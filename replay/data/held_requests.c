/*
 * Requests that a full queue has refused
 *
 *	recorded:   a b c d e f g h     its queue had 8 entries
 *	replayed:   a b c d             this one has 4; e to h are copied, and wait
 *	               a b c d e f         two have completed, and were polled
 *
 * A queue may be shorter than the recorded one, because the device has a lower limit: then requests
 * wait in order, which only delays their posts. The queue may also be full of completions that the
 * recorded program polled in a way that is not recorded: posts_wait.c polls them.
 *
 * Unsignaled requests leave a queue when a later signaled one completes. A shorter queue may
 * contain no signaled request, so some become signaled. Their completions are dropped.
 *
 * The numbers of requests in struct requests are in the recorded order, so waiting requests already
 * have their numbers.
 */
#include "replay/data/held_requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/report/differ.h"
#include "replay/data/posting.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"

/* A waiting request, with its SGEs and, if it is inline, their bytes. */
struct held_request {
	struct held_request *next;
	struct event_id event;
	enum verb verb;
	uint32_t index;
	union {
		struct ibv_send_wr send;
		struct ibv_recv_wr recv;
	};
	struct ibv_sge sges[];
};

static void note_queue_pair(struct replica_qp *qp, const struct call *call,
			    const struct ibv_qp_cap *here, bool signals_all)
{
	bool ex = call->verb == VERB_create_qp_ex;

	qp->out[SIDE_SEND].length = here->max_send_wr;
	qp->out[SIDE_RECV].length = here->max_recv_wr;
	qp->out[SIDE_SEND].length_there =
		(uint32_t)args_number(call->out, ARG_EX(ex, qp_init_attr, cap.max_send_wr));
	qp->out[SIDE_RECV].length_there =
		(uint32_t)args_number(call->out, ARG_EX(ex, qp_init_attr, cap.max_recv_wr));
	qp->signals_all = signals_all;
}

void held_note_lengths(struct replica *replica, const struct call *call, const uint64_t *args)
{
	const void *at = (void *)(uintptr_t)args[1];
	const struct ibv_qp_init_attr *qp = at;
	const struct ibv_qp_init_attr_ex *qp_ex = at;
	const struct ibv_srq_init_attr *srq = at;
	const struct ibv_srq_init_attr_ex *srq_ex = at;

	if (!at || !call->out)
		return;
	if (replica->qp && call->verb == VERB_create_qp)
		note_queue_pair(replica->qp, call, &qp->cap, qp->sq_sig_all);
	if (replica->qp && call->verb == VERB_create_qp_ex)
		note_queue_pair(replica->qp, call, &qp_ex->cap, qp_ex->sq_sig_all);
	if (replica->requests && call->verb == VERB_create_srq) {
		replica->requests->length = srq->attr.max_wr;
		replica->requests->length_there =
			(uint32_t)args_number(call->out, ARG(srq_init_attr.attr.max_wr));
	}
	if (replica->requests && call->verb == VERB_create_srq_ex) {
		replica->requests->length = srq_ex->attr.max_wr;
		replica->requests->length_there =
			(uint32_t)args_number(call->out, ARG(srq_init_attr_ex.attr.max_wr));
	}
}

bool held_queue_is_shorter(const struct requests *requests)
{
	return requests->length && requests->length < requests->length_there;
}

bool held_must_signal(struct requests *requests, bool signaled)
{
	if (!held_queue_is_shorter(requests))
		return false;
	requests->silent = signaled ? 0 : requests->silent + 1;
	if (requests->silent < (requests->length + 1) / 2)
		return false;
	requests->silent = 0;
	return true;
}

/* Copy inline data into one SGE: devices limit its bytes less than its number of SGEs. */
static void copy_inline(struct held_request *held, char *to, const struct ibv_sge *from, int n)
{
	held->sges[0] = (struct ibv_sge){ .addr = (uintptr_t)to };
	for (int i = 0; i < n; i++) {
		memcpy(to + held->sges[0].length, (void *)(uintptr_t)from[i].addr, from[i].length);
		held->sges[0].length += from[i].length;
	}
	held->send.num_sge = 1;
}

static size_t inline_bytes(const struct ibv_sge *sges, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += sges[i].length;
	return bytes;
}

static struct held_request *copy_request(const struct post_in_progress *p, uint32_t i)
{
	const struct request_memory *wrs = p->wrs;
	bool send = p->side == SIDE_SEND;
	const struct ibv_sge *sges = send ? wrs->send[i].sg_list : wrs->recv[i].sg_list;
	int num_sge = send ? wrs->send[i].num_sge : wrs->recv[i].num_sge;
	bool bytes = send && wrs->send[i].send_flags & IBV_SEND_INLINE && num_sge > 0;
	int n = bytes ? 1 : num_sge < 0 ? 0 : num_sge > SGES_MAX ? SGES_MAX : num_sge;
	struct held_request *held = calloc(1, sizeof(*held) + (size_t)n * sizeof(*sges) +
						      (bytes ? inline_bytes(sges, num_sge) : 0));

	if (!held)
		return NULL;
	held->event = p->event->id;
	held->verb = p->post->verb;
	held->index = i;
	if (send)
		held->send = wrs->send[i];
	else
		held->recv = wrs->recv[i];
	if (bytes)
		copy_inline(held, (char *)&held->sges[n], sges, num_sge);
	else if (n)
		memcpy(held->sges, sges, (size_t)n * sizeof(*sges));
	if (send) {
		held->send.sg_list = held->sges;
		held->send.next = NULL;
	} else {
		held->recv.sg_list = held->sges;
		held->recv.next = NULL;
	}
	return held;
}

int held_add_requests(struct post_in_progress *p, uint32_t from)
{
	struct held_request **end = &p->requests->held;

	if (!p->replica->holds) {
		p->replica->holds = true;
		p->replica->next_holder = p->r->holders;
		p->r->holders = p->replica;
	}
	while (*end)
		end = &(*end)->next;
	for (uint32_t i = from; i < p->post->nwr; i++, end = &(*end)->next) {
		*end = copy_request(p, i);
		if (!*end)
			return -ENOMEM;
	}
	return 0;
}

/* Objects of a request may have been destroyed while it waited. */
static bool has_objects(const struct replay *r, const struct replica *replica,
			const struct held_request *held)
{
	const struct ibv_send_wr *wr = &held->send;

	if (!verb_is_send(held->verb))
		return true;
	if (replica->qp->type == IBV_QPT_UD && !translate_has_object(r, wr->wr.ud.ah, OBJECT_ah))
		return false;
	if (wr->opcode != IBV_WR_BIND_MW)
		return true;
	return translate_has_object(r, wr->bind_mw.mw, OBJECT_mw) &&
	       (!wr->bind_mw.bind_info.mr ||
		translate_has_object(r, wr->bind_mw.bind_info.mr, OBJECT_mr));
}

static int post_held(const struct replay *r, const struct replica *replica,
		     struct held_request *held)
{
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_recv;

	if (!replica->handle || !has_objects(r, replica, held))
		return EINVAL;
	switch (held->verb) {
	case VERB_post_recv:
		return ibv_post_recv(replica->handle, &held->recv, &bad_recv);
	case VERB_post_srq_recv:
		return ibv_post_srq_recv(replica->handle, &held->recv, &bad_recv);
	case VERB_post_wq_recv:
		return ibv_post_wq_recv(replica->handle, &held->recv, &bad_recv);
	default:
		return ibv_post_send(replica->handle, &held->send, &bad_send);
	}
}

static void free_first_held(struct requests *requests)
{
	struct held_request *held = requests->held;

	requests->held = held->next;
	free(held);
}

/* Report a request that was refused although the queue had free entries. */
static void report_refusal(struct replay *r, const struct replica *replica,
			   const struct held_request *held, int ret)
{
	char here[64];

	differ_check_texts(r->outcome, held->event, held->verb, (uint32_t)(replica - r->replicas),
			   "ret", "success", errno_text(ret, here));
	map_put(&r->left_out, event_key(held->event), held->index + 1);
}

/* Post the requests that fit now. Returns how many. */
static unsigned int resume_requests(struct replay *r, struct replica *replica,
				    struct requests *requests)
{
	unsigned int n = 0;

	for (; requests->held; n++, free_first_held(requests)) {
		int ret = post_held(r, replica, requests->held);

		if (ret == ENOMEM)
			break;
		if (ret)
			report_refusal(r, replica, requests->held, ret);
	}
	return n;
}

static unsigned int resume_replica(struct replay *r, struct replica *replica)
{
	unsigned int n = 0;

	if (replica->requests)
		return resume_requests(r, replica, replica->requests);
	for (int side = 0; side < SIDES; side++)
		n += resume_requests(r, replica, &replica->qp->out[side]);
	return n;
}

static bool has_held_requests(const struct replica *replica)
{
	if (replica->requests)
		return replica->requests->held;
	return replica->qp->out[SIDE_SEND].held || replica->qp->out[SIDE_RECV].held;
}

unsigned int held_post_all(struct replay *r)
{
	struct replica **at = &r->holders;
	unsigned int n = 0;

	while (*at) {
		n += resume_replica(r, *at);
		if (has_held_requests(*at)) {
			at = &(*at)->next_holder;
		} else {
			(*at)->holds = false;
			*at = (*at)->next_holder;
		}
	}
	return n;
}

void held_drop_all(struct requests *requests)
{
	while (requests->held)
		free_first_held(requests);
}

uint32_t held_count_requests(const struct requests *requests)
{
	uint32_t n = 0;

	for (const struct held_request *held = requests->held; held; held = held->next)
		n++;
	return n;
}

uint32_t held_withdraw(struct requests *requests, uint32_t n)
{
	uint32_t waiting = held_count_requests(requests), kept = waiting > n ? waiting - n : 0;
	struct held_request **at = &requests->held, *rest;

	for (uint32_t i = 0; i < kept; i++)
		at = &(*at)->next;
	rest = *at;
	*at = NULL;
	while (rest) {
		struct held_request *next = rest->next;

		free(rest);
		rest = next;
	}
	return waiting - kept;
}

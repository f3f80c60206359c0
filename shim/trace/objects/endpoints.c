/*
 * Queue pairs, shared receive queues and work queues, by address and by number
 *
 * By address, they are in the table of all objects (known.c). By number, they are in lists. An
 * entry moves from one list to another when its number changes: a reader that has not found its
 * entry searches again if there was a change.
 */
#include "shim/trace/objects/endpoints.h"

#include <stdlib.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/record.h"

enum { BITS = 12, BUCKETS = 1 << BITS, TRIES = 100, NO_NUMBER = -1 };

static _Atomic(struct endpoint *) by_number[BUCKETS], made;
static _Atomic unsigned int changes; /* number of changes; odd: a change is in progress */

static _Atomic(struct endpoint *) *find_bucket(uint32_t number)
{
	return &by_number[number * 0x9e3779b97f4a7c15ull >> (64 - BITS)];
}

struct endpoint *endpoints_find(const void *object)
{
	return known_find(object, KNOWN_ENDPOINT);
}

struct endpoint *endpoints_get(const void *object)
{
	struct endpoint *e = endpoints_find(object);

	if (e)
		return e;
	e = permit_alloc(1, sizeof(*e));
	if (!e)
		return NULL;
	atomic_store_explicit(&e->number, (uint32_t)NO_NUMBER, memory_order_relaxed);
	queue_forget_requests(&e->send);
	queue_forget_requests(&e->recv);
	known_add(&e->known, object, KNOWN_ENDPOINT);
	e->next_computed = atomic_load_explicit(&made, memory_order_relaxed);
	/* pairs with the load in endpoints_search() */
	atomic_store_explicit(&made, e, memory_order_release);
	return e;
}

static void unlink_endpoint_number(struct endpoint *e)
{
	uint32_t number = atomic_load_explicit(&e->number, memory_order_relaxed);
	_Atomic(struct endpoint *) *at = find_bucket(number);
	struct endpoint *x;

	if (number == (uint32_t)NO_NUMBER)
		return;
	while ((x = atomic_load_explicit(at, memory_order_relaxed)) && x != e)
		at = &x->next_number;
	if (x)
		atomic_store_explicit(at,
				      atomic_load_explicit(&e->next_number, memory_order_relaxed),
				      memory_order_release);
	atomic_store_explicit(&e->number, (uint32_t)NO_NUMBER, memory_order_relaxed);
}

static struct endpoint *find_number(const struct ibv_context *context, uint32_t number)
{
	struct endpoint *e = atomic_load_explicit(find_bucket(number), memory_order_acquire);

	while (e && (atomic_load_explicit(&e->number, memory_order_relaxed) != number ||
		     e->context != context))
		e = atomic_load_explicit(&e->next_number, memory_order_acquire);
	return e;
}

struct endpoint *endpoints_of_number(const struct ibv_context *context, uint32_t number)
{
	for (int i = 0; i < TRIES; i++) {
		/* pairs with the store in set_number() */
		unsigned int before = atomic_load_explicit(&changes, memory_order_acquire);
		struct endpoint *e = find_number(context, number);

		atomic_thread_fence(memory_order_acquire);
		if (e || before == atomic_load_explicit(&changes, memory_order_relaxed))
			return e;
	}
	return NULL;
}

/* Set the number of @e. An earlier object with this number was destroyed. */
static void set_number(struct endpoint *e, uint32_t number)
{
	_Atomic(struct endpoint *) *bucket = find_bucket(number);
	struct endpoint *before = find_number(e->context, number);

	atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	unlink_endpoint_number(e);
	if (before && before != e)
		unlink_endpoint_number(before);
	atomic_store_explicit(&e->number, number, memory_order_relaxed);
	atomic_store_explicit(&e->next_number, atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(bucket, e, memory_order_release);
	/* pairs with the load in endpoints_of_number() */
	atomic_fetch_add_explicit(&changes, 1, memory_order_release);
}

void endpoints_add_qp(const struct ibv_qp *qp, const struct ibv_qp_cap *cap, bool all_signaled,
		      bool has_recv)
{
	struct endpoint *e;

	recording_lock();
	e = endpoints_get(qp);
	if (e) {
		e->kind = ENDPOINT_QP;
		e->context = qp->context;
		e->datagrams = qp->qp_type == IBV_QPT_UD;
		e->all_signaled = all_signaled;
		e->has_recv = has_recv && !qp->srq;
		atomic_store(&e->srq, qp->srq ? endpoints_find(qp->srq) : NULL);
		e->unknown_srq = qp->srq && !atomic_load(&e->srq);
		atomic_store(&e->send_cq, qp->send_cq);
		atomic_store(&e->recv_cq, qp->recv_cq);
		queue_begin(&e->send, cap->max_send_wr, cap->max_send_sge, false);
		queue_begin(&e->recv, e->has_recv ? cap->max_recv_wr : 0, cap->max_recv_sge, false);
		set_number(e, qp->qp_num);
	}
	recording_unlock();
}

static void add_receiver(const void *object, enum endpoint_kind kind,
			 const struct ibv_context *context, uint32_t max, uint32_t spans,
			 const struct ibv_cq *cq)
{
	struct endpoint *e;

	recording_lock();
	e = endpoints_get(object);
	if (e) {
		e->kind = kind;
		e->unknown_srq = false;
		e->context = context;
		unlink_endpoint_number(e);
		queue_begin(&e->send, 0, 0, false);
		queue_begin(&e->recv, max, spans, kind == ENDPOINT_SRQ);
		atomic_store(&e->send_cq, NULL);
		atomic_store(&e->recv_cq, cq);
	}
	recording_unlock();
}

void endpoints_add_srq(const struct ibv_srq *srq, const struct ibv_srq_attr *attr,
		       const struct ibv_cq *cq)
{
	add_receiver(srq, ENDPOINT_SRQ, srq->context, attr->max_wr, attr->max_sge, cq);
}

void endpoints_add_wq(const struct ibv_wq *wq, uint32_t max, uint32_t spans)
{
	add_receiver(wq, ENDPOINT_WQ, wq->context, max, spans, wq->cq);
}

/* The queue of @e that completes to @cq; NULL: none. */
static struct payload_queue *on_cq(struct endpoint *e, const struct ibv_cq *cq, bool recv)
{
	struct endpoint *srq = atomic_load(&e->srq);

	if (atomic_load(recv ? &e->recv_cq : &e->send_cq) != cq)
		return NULL;
	if (!recv)
		return &e->send;
	if (e->kind == ENDPOINT_QP && srq)
		return &srq->recv;
	return e->kind != ENDPOINT_QP || e->has_recv ? &e->recv : NULL;
}

struct payload_queue *endpoints_search(const struct ibv_cq *cq, uint64_t wr_id, bool recv,
				       bool number_known, bool *ret_several)
{
	/* pairs with the store in endpoints_get() */
	struct endpoint *e = atomic_load_explicit(&made, memory_order_acquire);
	struct payload_queue *found = NULL;

	*ret_several = false;
	for (; e; e = e->next_computed) {
		struct payload_queue *queue =
			number_known && e->kind == ENDPOINT_QP ? NULL : on_cq(e, cq, recv);
		int has = queue && queue != found ? queue_has(queue, wr_id) : 0;

		if (recv && !number_known && e->unknown_srq && atomic_load(&e->recv_cq) == cq)
			has = -1;
		if (!has)
			continue;
		*ret_several = found || has < 0;
		if (*ret_several)
			return NULL;
		found = queue;
	}
	return found;
}

struct endpoint *endpoints_owner(struct payload_queue *recv)
{
	struct endpoint *e = recv ? (void *)((char *)recv - offsetof(struct endpoint, recv)) : NULL;

	return e && e->kind == ENDPOINT_QP ? e : NULL;
}

void endpoints_abandon(void)
{
	for (struct endpoint *e = atomic_load(&made); e; e = e->next_computed) {
		queue_abandon(&e->send);
		queue_abandon(&e->recv);
	}
	atomic_store(&changes, 0);
}

/*
 * Requests that are posted later
 *
 *	program --add--> waiting, waiting ... --thread, when due--> device
 *
 * All requests wait in one list, in the order of their posts; no request is due before an earlier
 * one of the same queue. The mutex is held while a request is posted, so that its queue pair is not
 * destroyed meanwhile. If the device's queue is full, the request is tried again. After any other
 * error the queue pair is moved to its error state, since the program's post has returned already.
 *
 * A child of fork() begins with an empty list.
 */
#include "shim/trace/faults/postponed.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/service.h"

enum { TRY_AGAIN_NS = 100000 };

struct postponed_request {
	struct postponed_request *next;
	const void *key; /* identifies its queue */
	void *queue;
	bool send;
	uint64_t due;
	union {
		struct ibv_send_wr send_wr;
		struct ibv_recv_wr recv_wr;
	};
	union {
		post_send_fn *post_send;
		post_recv_fn *post_recv;
	};
	struct ibv_sge sges[]; /* followed by the inline data, and the header of TSO */
};

static struct service service;
static pthread_cond_t changed; /* uses CLOCK_MONOTONIC */
static struct postponed_request *all;
static atomic_uint nwaiting;

static uint64_t sum_sge_lengths(const struct ibv_sge *sges, int n)
{
	uint64_t total = 0;

	for (int i = 0; i < n; i++)
		total += sges[i].length;
	return total;
}

/* Allocate a request with space for @n elements, and @bytes of data. */
static struct postponed_request *new_waiting(void *queue, const void *key, uint64_t ns,
					     const struct ibv_sge *sges, int n, size_t bytes)
{
	struct postponed_request *w = calloc(1, sizeof(*w) + (size_t)n * sizeof(*sges) + bytes);

	if (!w)
		return NULL;
	w->queue = queue;
	w->key = key;
	w->due = plan_now() + ns;
	if (n)
		memcpy(w->sges, sges, (size_t)n * sizeof(*sges));
	return w;
}

/* Copy inline data: the program may reuse its memory when its post has returned. */
static void copy_inline(struct postponed_request *w, int n)
{
	char *to = (char *)&w->sges[n];

	for (int i = 0; i < n; i++) {
		memcpy(to, (const void *)(uintptr_t)w->sges[i].addr, w->sges[i].length);
		w->sges[i].addr = (uintptr_t)to;
		to += w->sges[i].length;
	}
}

static int post_waiting(struct postponed_request *w)
{
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_recv;

	return w->send ? w->post_send(w->queue, &w->send_wr, &bad_send)
		       : w->post_recv(w->queue, &w->recv_wr, &bad_recv);
}

static void drop_waiting(struct postponed_request **at)
{
	struct postponed_request *w = *at;

	*at = w->next;
	free(w);
	atomic_fetch_sub(&nwaiting, 1);
}

/* Fail the queue pair of a request; a shared receive queue has no error state. */
static void fail_queue(const struct postponed_request *w)
{
	if (w->send || w->key != w->queue)
		original_fail_qp(w->queue);
}

/* Post the request. False: it stays in the list, and will be tried again. */
static bool submit_waiting(struct postponed_request **at, uint64_t now)
{
	int err = post_waiting(*at);

	if (err == ENOMEM || err == -ENOMEM) {
		(*at)->due = now + TRY_AGAIN_NS;
		return false;
	}
	if (err)
		fail_queue(*at);
	drop_waiting(at);
	return true;
}

/* Does an earlier request of the same queue still wait? */
static bool is_blocked(const struct postponed_request *w)
{
	const struct postponed_request *before = all;

	while (before != w && before->key != w->key)
		before = before->next;
	return before != w;
}

/* Post the requests whose time has come. Returns when the next one must be posted, ns. */
static uint64_t post_due(void)
{
	uint64_t now = plan_now(), next = UINT64_MAX;
	struct postponed_request **at = &all;

	while (*at) {
		bool due = (*at)->due <= now && !is_blocked(*at);

		if (due && submit_waiting(at, now))
			continue;
		next = (*at)->due < next ? (*at)->due : next;
		at = &(*at)->next;
	}
	return next;
}

static void serve_queues(void)
{
	pthread_mutex_lock(&service.mutex);
	for (;;) {
		uint64_t due = post_due();
		const struct timespec until = { (time_t)(due / 1000000000),
						(long)(due % 1000000000) };

		if (due == UINT64_MAX)
			pthread_cond_wait(&changed, &service.mutex);
		else
			pthread_cond_timedwait(&changed, &service.mutex, &until);
	}
}

static void open_queues(void)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &monotonic);
}

static void forget_parent(void)
{
	all = NULL;
	atomic_store(&nwaiting, 0);
}

static struct service service = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				  .open = open_queues,
				  .serve = serve_queues,
				  .in_child = forget_parent };

/* Add a request at the end of the list; it is not due before earlier ones of its queue. */
static int add_waiting_request(struct postponed_request *w)
{
	struct postponed_request **at = &all;
	int saved = errno;

	service_start(&service);
	pthread_mutex_lock(&service.mutex);
	for (; *at; at = &(*at)->next)
		if ((*at)->key == w->key && (*at)->due > w->due)
			w->due = (*at)->due;
	*at = w;
	atomic_fetch_add(&nwaiting, 1);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&service.mutex);
	errno = saved;
	return 0;
}

int postponed_add_send(struct ibv_qp *qp, const struct ibv_send_wr *wr, uint64_t ns,
		       post_send_fn *behind)
{
	int n = wr->sg_list ? wr->num_sge : 0;
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	size_t data = is_inline ? sum_sge_lengths(wr->sg_list, n) : 0;
	size_t header = wr->opcode == IBV_WR_TSO ? wr->tso.hdr_sz : 0;
	struct postponed_request *w = new_waiting(qp, qp, ns, wr->sg_list, n, data + header);

	if (!w)
		return ENOMEM;
	w->send = true;
	w->post_send = behind;
	w->send_wr = *wr;
	w->send_wr.next = NULL;
	w->send_wr.sg_list = w->sges;
	if (is_inline)
		copy_inline(w, n);
	if (header)
		w->send_wr.tso.hdr = memcpy((char *)&w->sges[n] + data, wr->tso.hdr, header);
	return add_waiting_request(w);
}

int postponed_add_recv(void *queue, const void *key, const struct ibv_recv_wr *wr, uint64_t ns,
		       post_recv_fn *behind)
{
	int n = wr->sg_list ? wr->num_sge : 0;
	struct postponed_request *w = new_waiting(queue, key, ns, wr->sg_list, n, 0);

	if (!w)
		return ENOMEM;
	w->post_recv = behind;
	w->recv_wr = (struct ibv_recv_wr){ wr->wr_id, NULL, w->sges, wr->num_sge };
	return add_waiting_request(w);
}

bool postponed_has_any(void)
{
	return atomic_load(&nwaiting);
}

bool postponed_has_key(const void *key)
{
	const struct postponed_request *w;

	if (!postponed_has_any())
		return false;
	pthread_mutex_lock(&service.mutex);
	for (w = all; w && w->key != key; w = w->next)
		;
	pthread_mutex_unlock(&service.mutex);
	return w;
}

void postponed_release(const struct ibv_qp *qp)
{
	struct postponed_request **at = &all;
	int saved = errno;

	if (!atomic_load_explicit(&nwaiting, memory_order_relaxed))
		return;
	pthread_mutex_lock(&service.mutex);
	while (*at) {
		if ((*at)->queue != qp) {
			at = &(*at)->next;
			continue;
		}
		post_waiting(*at);
		drop_waiting(at);
	}
	pthread_mutex_unlock(&service.mutex);
	errno = saved;
}

void postponed_forget(const void *object)
{
	struct postponed_request **at = &all;

	if (!atomic_load_explicit(&nwaiting, memory_order_relaxed))
		return;
	pthread_mutex_lock(&service.mutex);
	while (*at)
		if ((*at)->queue == object)
			drop_waiting(at);
		else
			at = &(*at)->next;
	pthread_mutex_unlock(&service.mutex);
}

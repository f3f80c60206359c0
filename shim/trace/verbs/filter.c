/*
 * Verbs that a filter excludes
 *
 * Data verbs are selected by verb, device, queue pair and 1 of N. Of control verbs, only queries
 * are ever excluded, so that every object has its lifetime and its name. Completions in error are
 * recorded regardless of 1 of N.
 *
 * A filter may also name queue pairs by their ordinal in the process or by their type. They are
 * selected when they are created, and marked by a bit per context and number, since a completion
 * has only that number. The bit is set or cleared when the number is assigned, not when the queue
 * pair is destroyed: completions may be polled later.
 */
#include "shim/trace/verbs/filter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/session.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/context.h"

_Static_assert((int)VERB_COUNT <= (int)SESSION_VERBS, "a bit for each verb");

static bool wants_verb(enum verb verb)
{
	return !(recorder.filter->left_out[verb / 64] >> (verb % 64) & 1);
}

static bool wants_device(const struct ibv_context *context)
{
	return !*recorder.filter->device || !strcmp(context->device->name, recorder.filter->device);
}

enum { NUMBERS = 1 << 24 }; /* number of possible queue pair numbers */

/* The selected queue pairs: a bit for each number. Unused pages take no memory. */
struct filter_qps {
	_Atomic uint64_t bits[NUMBERS / 64];
};

static uint32_t made, made_in; /* queue pairs created so far, in this generation of the process */

static struct filter_qps *find_qps(const struct ibv_context *context)
{
	struct context *c = context_find(context);

	/* pairs with the store in get_qps() */
	return c ? atomic_load_explicit(&c->qps, memory_order_acquire) : NULL;
}

static struct filter_qps *get_qps(const struct ibv_context *context)
{
	struct context *c = context_get(context);
	struct filter_qps *qps = find_qps(context);

	if (qps || !c)
		return qps;
	qps = permit_alloc(1, sizeof(*qps));
	/* pairs with the load in find_qps() */
	atomic_store_explicit(&c->qps, qps, memory_order_release);
	return qps;
}

static bool has_number(const uint32_t *list, uint32_t n, uint32_t number)
{
	for (uint32_t i = 0; i < n && i < SESSION_QPS; i++)
		if (list[i] == number)
			return true;
	return false;
}

static void choose_qp(const struct ibv_qp *qp)
{
	const struct session_filter *filter = recorder.filter;
	struct filter_qps *qps = get_qps(qp->context);
	uint32_t number = qp->qp_num % NUMBERS;
	uint64_t bit = 1ull << number % 64;

	if (made_in != recording_generation())
		made = 0; /* a child of fork() counts from 0 */
	made_in = recording_generation();
	made++;
	if (!qps)
		return;
	if (has_number(filter->nths, filter->nnths, made) ||
	    filter->qp_types & session_qp_type(qp->qp_type))
		atomic_fetch_or_explicit(&qps->bits[number / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&qps->bits[number / 64], ~bit, memory_order_relaxed);
}

void filter_note_qp(const struct ibv_qp *qp)
{
	int saved = errno;

	if (!qp || !record_ready() || !recorder.filter || recorder.depth)
		return;
	recording_lock();
	choose_qp(qp);
	recording_unlock();
	errno = saved;
}

static bool wants_qp(const struct ibv_context *context, uint32_t number)
{
	const struct session_filter *filter = recorder.filter;
	const struct filter_qps *qps;

	if (!filter->some_qps || has_number(filter->qps, filter->nqps, number))
		return true;
	qps = filter->nnths || filter->qp_types ? find_qps(context) : NULL;
	number %= NUMBERS;
	return qps &&
	       atomic_load_explicit(&qps->bits[number / 64], memory_order_relaxed) >> number % 64 &
		       1;
}

static bool wants_queue(enum verb verb, const void *queue)
{
	const struct ibv_qp *qp = queue;

	switch (verb_infos[verb].object) {
	case OBJECT_qp:
		return wants_device(qp->context) && wants_qp(qp->context, qp->qp_num);
	case OBJECT_srq:
		return wants_device(((const struct ibv_srq *)queue)->context);
	default:
		return wants_device(((const struct ibv_wq *)queue)->context);
	}
}

/*
 * A random step from 1 to 2N - 1: if a program alternates between queues, a fixed step would record
 * only some of them.
 */
static uint32_t choose_gap(uint32_t n)
{
	uint32_t x = recorder.chance ? recorder.chance : (uint32_t)record_ticks() | 1;

	x ^= x << 13; /* xorshift: Marsaglia 2003 */
	x ^= x >> 17;
	x ^= x << 5;
	recorder.chance = x;
	return 1 + (uint32_t)((uint64_t)x * (2ull * n - 1) >> 32);
}

/* Select 1 of N, on average. *@left: how many to skip before the next selected one. */
static bool is_sampled(uint32_t *left)
{
	if (recorder.filter->one_of < 2)
		return true;
	if (!*left)
		*left = choose_gap(recorder.filter->one_of);
	return !--*left;
}

/* Count an excluded verb. Only this thread writes the counter. */
static bool count_if_filtered(bool wanted)
{
	_Atomic uint64_t *count = &recorder.ring.head->filtered;

	if (!wanted)
		atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	return wanted;
}

bool filter_takes_call(enum verb verb)
{
	return verb_infos[verb].effect != EFFECT_QUERY || count_if_filtered(wants_verb(verb));
}

bool filter_takes_post(enum verb verb, const void *queue)
{
	return count_if_filtered(wants_verb(verb) && wants_queue(verb, queue) &&
				 is_sampled(&recorder.posts));
}

bool filter_takes_poll(void)
{
	return is_sampled(&recorder.polls);
}

/* Is a completion recorded? If its queue pair number is 0, the CQ does not report it. */
bool filter_takes_completion(const struct ibv_cq *cq, bool poll_taken, const struct ibv_wc *wc)
{
	return count_if_filtered(wants_verb(VERB_poll_cq) && wants_device(cq->context) &&
				 (!wc->qp_num || wants_qp(cq->context, wc->qp_num)) &&
				 (poll_taken || wc->status != IBV_WC_SUCCESS));
}

bool filter_takes_notify(const struct ibv_cq *cq)
{
	return count_if_filtered(wants_verb(VERB_req_notify_cq) && wants_device(cq->context));
}

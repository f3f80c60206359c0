/*
 * What a filter leaves out, at the source
 *
 * The data plane goes by verb, device, queue pair and one of N; of the control
 * plane only queries are ever left out, so that every object has its life and
 * its name. Completions with an error are kept whatever the filter says of
 * their verb's number among N.
 */
#include "shim/trace/sieve.h"

#include <string.h>

#include "core/wire/session.h"
#include "shim/trace/record.h"

_Static_assert((int)VERB_COUNT <= (int)SESSION_VERBS, "a bit for each verb");

static bool wants_verb(enum verb verb)
{
	return !(recorder.sieve->left_out[verb / 64] >> (verb % 64) & 1);
}

static bool wants_device(const struct ibv_context *context)
{
	return !*recorder.sieve->device ||
	       !strcmp(context->device->name, recorder.sieve->device);
}

static bool wants_qp(uint32_t number)
{
	const struct session_filter *sieve = recorder.sieve;

	for (uint32_t i = 0; i < sieve->nqps && i < SESSION_QPS; i++)
		if (sieve->qps[i] == number)
			return true;
	return !sieve->nqps;
}

/* 1 to 2N - 1, at random: a program that posts in turns would have only some of them taken. */
static uint32_t gap(uint32_t n)
{
	uint32_t x = recorder.chance ? recorder.chance : (uint32_t)record_ticks() | 1;

	x ^= x << 13; /* xorshift: Marsaglia 2003 */
	x ^= x >> 17;
	x ^= x << 5;
	recorder.chance = x;
	return 1 + (uint32_t)((uint64_t)x * (2ull * n - 1) >> 32);
}

/* One of N, on average; @left: how many are not, until then. */
static bool wants_number(uint32_t *left)
{
	if (recorder.sieve->one_of < 2)
		return true;
	if (!*left)
		*left = gap(recorder.sieve->one_of);
	return !--*left;
}

/* Only this thread counts. */
static bool taken(bool wanted)
{
	_Atomic uint64_t *count = &recorder.ring.head->filtered;

	if (!wanted)
		atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	return wanted;
}

bool sieve_takes_call(enum verb verb)
{
	return verb_infos[verb].effect != EFFECT_QUERY || taken(wants_verb(verb));
}

bool sieve_takes_post(enum verb verb, const void *queue)
{
	const struct ibv_qp *qp = verb == VERB_post_srq_recv ? NULL : queue;
	const struct ibv_srq *srq = qp ? NULL : queue;

	return taken(wants_verb(verb) && wants_device(qp ? qp->context : srq->context) &&
		     (!qp || wants_qp(qp->qp_num)) && wants_number(&recorder.posts));
}

bool sieve_takes_poll(const struct ibv_cq *cq)
{
	return wants_device(cq->context) && wants_number(&recorder.polls);
}

bool sieve_takes_completion(bool poll_taken, const struct ibv_wc *wc)
{
	return taken(wants_verb(VERB_poll_cq) && wants_qp(wc->qp_num) &&
		     (poll_taken || wc->status != IBV_WC_SUCCESS));
}

bool sieve_takes_notify(const struct ibv_cq *cq)
{
	return taken(wants_verb(VERB_req_notify_cq) && wants_device(cq->context));
}

/*
 * How much a replay has done
 *
 * Counters are on the data path, so each thread adds to its own shard.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/lines.h"
#include "replay/report/outcome_priv.h"

/* The last shard is shared by all further threads. */
enum { SHARDS = 64 };

struct outcome_shard {
	uint64_t counts[OUTCOME_COUNTS];
	uint64_t calls[VERB_COUNT];
} __attribute__((aligned(CACHE_LINE)));

_Thread_local struct outcome_tally outcome_tally;

int outcome_count_init(struct outcome *r)
{
	r->shards = lines_alloc(SHARDS, sizeof(*r->shards));
	return r->shards ? 0 : -ENOMEM;
}

void outcome_count_fini(struct outcome *r)
{
	if (outcome_tally.of == r)
		outcome_tally = (struct outcome_tally){ 0 };
	free(r->shards);
}

/* The number of the calling thread, from 0. */
static unsigned int shard_number(void)
{
	static _Thread_local unsigned int mine; /* number + 1; 0: none yet */
	static unsigned int given;

	if (!mine)
		mine = __atomic_add_fetch(&given, 1, __ATOMIC_RELAXED);
	return mine - 1;
}

/* Add to a counter; only the last shard has several writers (@shared), but any may be read. */
static void add_to(uint64_t *at, uint64_t n, bool shared)
{
	if (shared)
		__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(at, __atomic_load_n(at, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

void outcome_count_first(struct outcome *r, enum outcome_count what, uint64_t n)
{
	unsigned int i = shard_number();
	bool shared = i >= SHARDS - 1;
	uint64_t *counts = r->shards[shared ? SHARDS - 1 : i].counts;

	add_to(&counts[what], n, shared);
	if (!shared)
		outcome_tally = (struct outcome_tally){ r, counts };
}

void outcome_count_call(struct outcome *r, enum verb verb)
{
	unsigned int i = shard_number();
	bool shared = i >= SHARDS - 1;

	outcome_count(r, OUTCOME_CALLS, 1);
	add_to(&r->shards[shared ? SHARDS - 1 : i].calls[verb], 1, shared);
}

uint64_t outcome_total(const struct outcome *r, enum outcome_count what)
{
	uint64_t n = 0;

	for (int i = 0; i < SHARDS; i++)
		n += __atomic_load_n(&r->shards[i].counts[what], __ATOMIC_RELAXED);
	return n;
}

uint64_t outcome_total_calls(const struct outcome *r, enum verb verb)
{
	uint64_t n = 0;

	for (int i = 0; i < SHARDS; i++)
		n += __atomic_load_n(&r->shards[i].calls[verb], __ATOMIC_RELAXED);
	return n;
}

/*
 * A list of facts, one for each cause
 */
#include "analyzer/facts/fact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/vec.h"

/* clang-format off */
const struct fact_info fact_infos[FACT_COUNT] = {
	[FACT_FAILED] = { "failed-verb",      "failed verbs",         false },
	[FACT_HUNG]   = { "hung-call",        "hung calls",           true },
	[FACT_ERROR]  = { "error-completion", "queue pairs in error", true },
	[FACT_KILLED] = { "killed-process",   "killed",               true },
	[FACT_FATAL]  = { "fatal-event",      "fatal events",         false },
	[FACT_EXITED] = { "failed-exit",      "exited with an error", false },
	[FACT_WAITED] = { "vain-wait",        "waited in vain",       false },
	[FACT_PAUSED] = { "long-wait",        "long waits",           false },
};
/* clang-format on */

int fact_find(const char *name)
{
	for (int i = 0; i < FACT_COUNT; i++)
		if (!strcasecmp(fact_infos[i].name, name))
			return i;
	return -1;
}

uint64_t fact_key(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t h = a * 0x9e3779b97f4a7c15ull;

	h = (h ^ (h >> 32) ^ b) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ (h >> 32) ^ c) * 0x94d049bb133111ebull;
	return h ^ (h >> 32);
}

static bool is_already_in(const struct fact *fact, uint32_t process)
{
	for (size_t i = fact->nin; i-- > 0;)
		if (fact->in[i] == process)
			return true;
	return false;
}

static void add_process(struct fact_list *facts, struct fact *fact, uint32_t process)
{
	uint32_t *place;

	if (fact->nin == FACT_PROCESSES || is_already_in(fact, process))
		return;
	place = vec_push(fact->in, fact->nin);
	if (place)
		*place = process;
	else
		facts->err = -ENOMEM;
}

static struct fact *add_fact(struct fact_list *facts, enum fact_kind kind, uint64_t key,
			     uint32_t process)
{
	struct fact *fact;

	if (facts->kept[kind] == FACTS_KEPT)
		return NULL;
	fact = vec_push(facts->all, facts->n);
	if (!fact || map_put(&facts->by_key, key, facts->n) < 0) {
		facts->n -= fact != NULL;
		facts->err = -ENOMEM;
		return NULL;
	}
	facts->kept[kind]++;
	fact->kind = kind;
	fact->process = process;
	fact->verb = VERB_COUNT;
	return fact;
}

struct fact *fact_count(struct fact_list *facts, enum fact_kind kind, uint64_t key,
			uint32_t process)
{
	struct fact *fact;
	uint64_t index;

	key = fact_key(key, kind, 0);
	facts->count[kind]++;
	if (map_get(&facts->by_key, key, &index))
		fact = &facts->all[index - 1];
	else
		fact = add_fact(facts, kind, key, process);
	if (!fact)
		return NULL;
	fact->count++;
	add_process(facts, fact, process);
	return fact;
}

void fact_uncount(struct fact_list *facts, struct fact *fact)
{
	fact->count--;
	facts->count[fact->kind]--;
}

void facts_clear(struct fact_list *facts)
{
	for (size_t i = 0; i < facts->n; i++) {
		free(facts->all[i].in);
		free(facts->all[i].what);
		free(facts->all[i].because);
	}
	free(facts->all);
	map_fini(&facts->by_key);
	memset(facts, 0, sizeof(*facts));
}

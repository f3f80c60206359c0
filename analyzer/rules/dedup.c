/*
 * The same finding in several processes
 *
 * The ranks of a job run one program, so each rank makes the same mistakes. Two findings are the
 * same if rule, argument, program and all call stacks are equal; without a stack the object's name
 * must be equal, too. Within a process they stay separate: how often a place breaks a rule is
 * counted elsewhere (findings.h).
 */
#include "analyzer/rules/dedup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/place.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

struct dedup {
	struct trace *trace;
	struct findings *findings;
	size_t seen;       /* of the findings */
	struct map by_key; /* to the first struct finding */
};

int dedup_new(struct trace *trace, struct findings *findings, struct dedup **ret_alike)
{
	struct dedup *alike = calloc(1, sizeof(*alike));

	if (!alike)
		return log_err(-ENOMEM, "findings of several processes");
	alike->trace = trace;
	alike->findings = findings;
	*ret_alike = alike;
	return 0;
}

void dedup_free(struct dedup *alike)
{
	if (!alike)
		return;
	map_fini(&alike->by_key);
	free(alike);
}

static void add_text(struct hash *hash, const char *text)
{
	hash_add(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t make_key(const struct dedup *alike, const struct finding *finding)
{
	const struct process *process = trace_process(alike->trace, finding->process);
	bool has_stack = false;
	struct hash hash;

	hash_begin(&hash, (uint64_t)finding->rule);
	hash_add(&hash, &finding->site->hazard, sizeof(finding->site->hazard));
	add_text(&hash, finding->where);
	add_text(&hash, process ? process->exe : NULL);
	for (unsigned int i = 0; i < finding->nsteps; i++) {
		uint64_t place = place_key(alike->trace, finding->steps[i].moment.stack);

		add_text(&hash, finding->steps[i].what);
		hash_add(&hash, &place, sizeof(place));
		has_stack |= finding->steps[i].moment.stack != 0;
	}
	if (!has_stack)
		add_text(&hash, finding->object);
	return hash_end(&hash);
}

static bool is_in_process(const struct finding *finding, uint32_t process)
{
	if (finding->process == process)
		return true;
	for (size_t i = finding->nalso; i-- > 0;)
		if (finding->also[i] == process)
			return true;
	return false;
}

/* An equal finding of another process, reported before; NULL if there is none. */
static struct finding *find_reported(struct dedup *alike, const struct finding *finding)
{
	uint64_t key = make_key(alike, finding), at;
	struct finding *first;
	uint32_t *place;

	if (!map_get(&alike->by_key, key, &at)) {
		if (map_put(&alike->by_key, key, (uintptr_t)finding))
			alike->findings->err = -ENOMEM;
		return NULL;
	}
	first = (struct finding *)(uintptr_t)at;
	if (first->process == finding->process)
		return NULL;
	if (is_in_process(first, finding->process))
		return first;
	place = vec_push(first->also, first->nalso);
	if (place)
		*place = finding->process;
	else
		alike->findings->err = -ENOMEM;
	return first;
}

void dedup_merge(struct dedup *alike)
{
	struct findings *findings = alike->findings;
	size_t keep = alike->seen;

	for (size_t i = alike->seen; i < findings->n; i++) {
		struct finding *finding = findings->all[i];
		struct finding *teller = find_reported(alike, finding);

		if (teller)
			findings_hide(findings, finding, teller);
		else
			findings->all[keep++] = finding;
	}
	findings->n = alike->seen = keep;
}

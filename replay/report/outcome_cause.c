/*
 * Which divergence explains a difference at an object
 *
 * A divergence breaks an object if the object's state then differs from the recorded one: all later
 * differences of the object are consequences. So are differences at objects that it explains, up to
 * two steps away:
 *
 *	qp1 --its peer--> qp2 --its completion queue--> cq2: no event
 *
 * A completion that differs in a value breaks nothing; but if the next ones differ, too (after a
 * missing one, each has the wr_id of its successor), they are consequences of the first, until one
 * agrees.
 */
#include "replay/report/outcome_cause.h"

#include <stdlib.h>

enum { STEPS_MAX = 2 };

static uint64_t find_broken(const struct outcome_causes *c, uint32_t object, int steps)
{
	uint64_t at, cause;

	if (!object)
		return OUTCOME_NO_CAUSE;
	if (map_get(&c->broken, object, &cause))
		return cause;
	if (!steps || !map_get(&c->edges, object, &at))
		return OUTCOME_NO_CAUSE;
	for (; at; at = c->edge[at - 1].next) {
		cause = find_broken(c, c->edge[at - 1].from, steps - 1);
		if (cause != OUTCOME_NO_CAUSE)
			return cause;
	}
	return OUTCOME_NO_CAUSE;
}

uint64_t outcome_cause_of(const struct outcome_causes *c, uint32_t object, uint32_t peer)
{
	uint64_t cause = find_broken(c, object, STEPS_MAX);

	if (cause == OUTCOME_NO_CAUSE)
		cause = find_broken(c, peer, 0);
	return cause;
}

uint64_t outcome_cause_last(const struct outcome_causes *c, uint32_t object)
{
	uint64_t cause = OUTCOME_NO_CAUSE;

	if (object)
		map_get(&c->last, object, &cause);
	return cause;
}

void outcome_cause_add_edge(struct outcome_causes *c, uint32_t from, uint32_t to)
{
	struct outcome_edge *more;
	uint64_t first = 0;

	if (!from || !to || from == to)
		return;
	map_get(&c->edges, to, &first);
	if (first && c->edge[first - 1].from == from) /* one queue for sends and receives */
		return;
	if (!(c->nedges & (c->nedges - 1))) { /* extended at powers of two only */
		more = reallocarray(c->edge, c->nedges ? c->nedges * 2 : 1, sizeof(*more));
		if (!more)
			return;
		c->edge = more;
	}
	c->edge[c->nedges] = (struct outcome_edge){ from, (uint32_t)first };
	if (!map_put(&c->edges, to, c->nedges + 1))
		c->nedges++;
}

void outcome_cause_note(struct outcome_causes *c, uint32_t object, uint64_t cause, bool breaks)
{
	if (object)
		(void)map_put(breaks ? &c->broken : &c->last, object, cause);
}

void outcome_cause_note_agreement(struct outcome_causes *c, uint32_t object)
{
	map_remove(&c->last, object);
}

void outcome_cause_note_repair(struct outcome_causes *c, uint32_t object)
{
	map_remove(&c->broken, object);
	map_remove(&c->last, object);
}

void outcome_cause_fini(struct outcome_causes *c)
{
	map_fini(&c->broken);
	map_fini(&c->last);
	map_fini(&c->edges);
	free(c->edge);
	*c = (struct outcome_causes){ 0 };
}

/*
 * What is known of the other ends before the first event is replayed
 *
 *	control verbs    queue pairs, the ends that they were connected to, sequence numbers
 *	sends            how each ended: a successful send names memory, a failed one is stored
 *	completions      what was received, and which event announced it before it was polled
 *
 * Requests are stored until they end, at most as many as the queue's depth; only failures, and a
 * message for each completion event, are stored permanently.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/finish/connections.h"
#include "core/wire/log.h"
#include "replay/synth/synth_pass.h"
#include "replay/two_host/pair.h"
#include "replay/state/recorded.h"

static bool is_connected(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_XRC_SEND ||
	       type == IBV_QPT_XRC_RECV;
}

/* Find the connections of a queue pair whose other end is not in the trace. */
static int resolve_links(struct pass *p, struct synth_plan *plan)
{
	for (size_t i = 0; i < plan->nlinks && is_connected(plan->type); i++) {
		struct synth_link *link = &plan->links[i];

		if (pair_has(p->r, plan->object, link->time) ||
		    peers_is_claimed(p->r->connections->peers, plan->object) ||
		    recorded_peer(p->r, plan->object, link->time))
			continue;
		link->host = synth_host_find(p, plan, &link->av);
		if (!link->host)
			return -ENOMEM;
		plan->needed = true;
	}
	if (plan->type == IBV_QPT_UD)
		plan->nlinks = 0;
	return 0;
}

static int learn_events(struct pass *p)
{
	const struct trace_event *event;
	int err = cursor_open(p->r->trace, NULL, &p->cursor);

	while (err >= 0 && (err = cursor_next(p->cursor, &event)) > 0) {
		err = synth_learn_event(p, event);
		if (err)
			break;
	}
	cursor_close(p->cursor);
	return err;
}

/*
 * Drop datagrams to a QP number that no queue pair of the trace has, if as many datagrams in the
 * trace came from an unknown sender: then the number is wrong, and no other end is missing.
 */
static void drop_unmatched(struct synth_plan *plan)
{
	uint64_t strange = 0;

	for (size_t i = 0; i < plan->nlinks; i++)
		strange += plan->links[i].named ? 0 : plan->links[i].heard;
	if (plan->type != IBV_QPT_UD || !strange || plan->sent_to < plan->heard + strange)
		return;
	plan->needed = false;
	for (size_t i = 0; i < plan->nlinks; i++) {
		if (!plan->links[i].named)
			plan->links[i].host = 0;
		plan->needed = plan->needed || plan->links[i].host;
	}
}

/* End the first pass: requests that never completed are assumed to have succeeded. */
static int end_learning(struct pass *p)
{
	bool needed = false;
	int err = 0;

	for (uint32_t i = 0; i < p->r->nreplicas && !err; i++) {
		struct synth_plan *plan = p->far->plans[i];

		if (!plan)
			continue;
		err = synth_close_requests(p, plan, plan->nopen);
		free(plan->open);
		plan->open = NULL;
		free(plan->life.recent);
		plan->life = (struct synth_life){ 0 };
		plan->at = 0;
		drop_unmatched(plan);
		needed = needed || plan->needed;
	}
	if (!needed && !err)
		synth_fini(p->r);
	return err;
}

static bool is_worth_a_pass(const struct pass *p)
{
	for (uint32_t i = 0; i < p->r->nreplicas; i++) {
		const struct synth_plan *plan = p->far->plans[i];

		if (plan && (plan->needed || plan->type == IBV_QPT_UD))
			return true;
	}
	return false;
}

static int begin_pass(struct pass *p)
{
	for (p->nseen = 1; trace_thread(p->r->trace, (uint32_t)p->nseen);)
		p->nseen++;
	p->announcements = calloc(p->r->nreplicas, sizeof(*p->announcements));
	p->seen = calloc(p->nseen, sizeof(*p->seen));
	return p->announcements && p->seen ? 0 : -ENOMEM;
}

static void end_pass(struct pass *p)
{
	free(p->announcements);
	map_fini(&p->gone);
	free(p->ends);
	free(p->seen);
}

int synth_learn_traffic(struct replay *r)
{
	struct pass p = { .r = r, .far = r->far };
	int err = begin_pass(&p);

	for (uint32_t i = 0; i < r->nreplicas && !err; i++)
		if (r->far->plans[i])
			err = resolve_links(&p, r->far->plans[i]);
	if (!err && is_worth_a_pass(&p))
		err = learn_events(&p);
	end_pass(&p);
	if (!err)
		err = end_learning(&p);
	return err == -ENOMEM ? log_err(err, "list the synthesized peers") : err;
}

/*
 * At the end of the trace: which processes wait, and which is to blame
 *
 * A process waits if it watches the CQ of its outstanding requests: it polls the CQ, sleeps until
 * it gets the CQ's event, or has armed the CQ and waits elsewhere, in poll(2) or the like. A
 * process that does not watch the CQ is not waiting, whatever is outstanding.
 *
 * A program outside of a job may be idle: only its sends and connections count, not receives
 * without messages, nor a thread that listens. A rank that has ended with success counts only if no
 * other process is to blame.
 */
#include "analyzer/facts/stalls_cm.h"
#include "analyzer/facts/stalls_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/read/trace.h"

enum {
	WAIT_POLLS = 3, /* empty polls: fewer are not a wait */
	MOMENT_NS = 50000000,
	ASKERS = 64, /* limit for the ranks that have not connected */
};

static bool is_stopped(const struct stall *stall)
{
	return stall->seen == 'T' || stall->seen == 't';
}

/* The polls of a node. */
struct node_polls {
	struct stalls *stalls;
	const struct stall *stall;
	uint64_t empty, most; /* empty polls of all CQs; the most of one CQ */
	uint32_t cq;          /* the CQ polled most */
	bool idle;            /* its last poll was long before the end */
	bool mixed;           /* threads of other sets poll its CQs, or its threads poll theirs */
};

/* Do these polls belong to another set of threads of the process? */
static bool is_poll_of_others(struct node_polls *looking, uint32_t thread, uint32_t cq)
{
	const struct thread_sets *sets = looking->stalls->work->sets;
	uint32_t own = looking->stall->set, of = thread_sets_of_thread(sets, thread);
	uint32_t there = thread_sets_of_object(sets, cq);

	if (!own || (of == own && there == own))
		return false;
	if (of != own && there != own)
		return true;
	looking->mixed |= stalls_node_of(looking->stalls, looking->stall->process, of) &&
			  stalls_node_of(looking->stalls, looking->stall->process, there);
	return there != own;
}

static void sum_empty_polls(void *arg, uint32_t thread, uint32_t cq, uint64_t empty)
{
	struct node_polls *looking = arg;

	if (looking->idle || is_poll_of_others(looking, thread, cq))
		return;
	looking->empty += empty;
	if (empty > looking->most) {
		looking->most = empty;
		looking->cq = cq;
	}
	for (size_t i = 0; i < looking->stall->n; i++) {
		struct stall_link *link = &looking->stalls->links[looking->stall->first + i];

		link->watched |= link->cq == cq;
	}
}

static bool is_firm_link(const struct stall_link *link)
{
	return link->why != STALL_MESSAGE && link->why != STALL_DATAGRAM &&
	       link->why != STALL_REQUEST && link->why != STALL_EVENT;
}

/*
 * A listener may wait for a request that never comes: this counts only if its process waits for
 * nothing else.
 */
static bool is_idle(const struct stall_link *link)
{
	return link->why == STALL_REQUEST || link->why == STALL_EVENT;
}

/* Is the process in a call in which it would get the next event of librdmacm? */
static bool awaits_event(const struct stall *stall, const struct stall_note *note,
			 const struct stall_link *link)
{
	return link->cmid &&
	       ((link->channel && activity_find_sleep(&note->threads, link->channel)) ||
		(stall->last.verb == VERB_rdma_get_cm_event && stall->error == EAGAIN) ||
		(stall->seen ? stall->seen == 'S' && strstr(stall->wchan, "poll")
			     : verb_infos[stall->last.verb].via == VIA_CM));
}

/* Does a thread poll, or wait for, the CQ of a link of the node? */
static bool watches_link(struct node_polls *looking, const struct stall_note *note)
{
	bool watched = false;

	for (size_t i = 0; i < looking->stall->n; i++) {
		struct stall_link *link = &looking->stalls->links[looking->stall->first + i];

		link->watched |=
			link->armed || is_idle(link) || awaits_event(looking->stall, note, link) ||
			(link->channel && activity_find_sleep(&note->threads, link->channel));
		/* a CQ with an unpolled completion is no longer watched */
		link->watched &= !note->unpolled || link->cq != note->unpolled_cq;
		watched |= link->watched;
	}
	return watched;
}

static bool has_firm_link(const struct stalls *stalls, const struct stall *stall)
{
	for (size_t i = 0; i < stall->n; i++)
		if (stall_links(stalls, stall)[i].watched &&
		    is_firm_link(&stall_links(stalls, stall)[i]))
			return true;
	return false;
}

/* Does the process wait only for processes that are not in the trace? */
static bool waits_outside_only(const struct stalls *stalls, const struct stall *stall)
{
	for (size_t i = 0; i < stall->n; i++) {
		const struct stall_link *link = &stall_links(stalls, stall)[i];

		if (link->watched && (link->to || link->why == STALL_REQUEST))
			return false;
	}
	return true;
}

/* Is @call the librdmacm call of one of the links of @stall? */
static bool is_call_of_link(const struct stalls *stalls, const struct stall *stall,
			    struct event_id call)
{
	for (size_t i = 0; i < stall->n; i++) {
		const struct stall_link *link = &stall_links(stalls, stall)[i];

		if (link->cmid && link->watched && link->request.thread == call.thread &&
		    link->request.n == call.n)
			return true;
	}
	return false;
}

static bool is_hung(const struct stalls *stalls, const struct stall *stall, const struct fact *fact)
{
	for (size_t k = 0; fact->kind == FACT_HUNG && k < fact->nin; k++)
		if (fact->in[k] == stall->process)
			return !stall->set ||
			       thread_sets_of_thread(stalls->work->sets, fact->event.thread) ==
				       stall->set;
	return false;
}

/* The call in which the process hung, from the list of facts; NULL: none. */
static const struct fact *find_hung(const struct stalls *stalls, const struct stall *stall,
				    const struct fact_list *facts)
{
	for (size_t i = 0; i < facts->n; i++)
		if (is_hung(stalls, stall, &facts->all[i]))
			return &facts->all[i];
	return NULL;
}

static void name_cq(const struct stalls *stalls, struct stall *stall, uint32_t cq)
{
	const struct object *object = trace_object(stalls->work->trace, cq);

	if (object && object->name)
		snprintf(stall->object, sizeof(stall->object), "%s", object->name);
}

/* Has the process called no verb for long, not even an empty poll? */
static bool is_silent(const struct stall *stall, const struct stall_note *note,
		      const struct node_polls *looking)
{
	return looking->empty < WAIT_POLLS && !activity_find_sleep(&note->threads, 0) &&
	       stall->time - stall->last.time >= stall_patience(stall);
}

static enum stall_state find_state(struct stalls *stalls, struct stall *stall,
				   const struct stall_note *note, const struct fact_list *facts)
{
	struct node_polls looking = { .stalls = stalls, .stall = stall, .idle = note->idle };
	bool known = activity_visit_empty(stalls->work->activity, &note->threads, sum_empty_polls,
					  &looking);
	bool watched = watches_link(&looking, note);
	const struct fact *hung = find_hung(stalls, stall, facts);

	if (is_stopped(stall))
		return STALL_STOPPED;
	if (note->misled)
		return STALL_MISLED;
	if (hung && !is_call_of_link(stalls, stall, hung->event)) {
		stall->hung = hung->event;
		stall->what = hung->what;
		stall->since = hung->time;
		return STALL_HUNG;
	}
	if (looking.mixed)
		return STALL_UNKNOWN;
	if (watched && (!note->full || has_firm_link(stalls, stall)))
		return waits_outside_only(stalls, stall) ? STALL_UNKNOWN : STALL_WAITS;
	if (note->full)
		return STALL_FULL;
	if (note->unpolled)
		return known && is_silent(stall, note, &looking) ? STALL_QUIET : STALL_UNPOLLED;
	if (note->unknown || !known)
		return STALL_UNKNOWN;
	if (stall->time - stall->quiet < stall_patience(stall))
		return STALL_BUSY;
	if (looking.empty >= WAIT_POLLS) {
		stall->count = looking.most;
		name_cq(stalls, stall, looking.cq);
		return stall->n ? STALL_IGNORES : STALL_NOTHING_OUTSTANDING;
	}
	return stall->time - stall->last.time >= stall_patience(stall) ? STALL_QUIET : STALL_BUSY;
}

static void set_node_state(struct stalls *stalls, uint32_t node, const struct fact_list *facts)
{
	struct stall *stall = &stalls->all[node];
	struct stall_note *note = &stalls->work->notes[node];

	if (!stall->process)
		return;
	stalls->processes += node < stalls->work->base;
	stall->state = stall->well ? STALL_WELL : find_state(stalls, stall, note, facts);
	if (stall->state == STALL_IGNORES) {
		stall->qp = stall_links(stalls, stall)->qp;
		snprintf(stall->object, sizeof(stall->object), "%s", note->cq);
	}
	activity_drop(&note->threads);
}

/* Ranks that have not connected yet */

static bool is_rank(const struct stalls *stalls, uint32_t process)
{
	const struct process *p = trace_process(stalls->work->trace, process);

	return p && p->rank.rank >= 0;
}

static bool is_waiting(const struct stalls *stalls, uint32_t node)
{
	enum stall_state state = stalls->all[node].state;

	return stalls->all[node].process && (state == STALL_WAITS || state == STALL_UNKNOWN);
}

static bool is_only_idle(const struct stalls *stalls, const struct stall *stall)
{
	for (size_t i = 0; i < stall->n; i++)
		if (stall_links(stalls, stall)[i].watched &&
		    !is_idle(&stall_links(stalls, stall)[i]))
			return false;
	return true;
}

/* May @process still have to connect? Only if it does not wait or, with @waits, listens itself. */
static bool may_still_connect(const struct stalls *stalls, uint32_t process,
			      const struct stall_link *link, const bool *asked, bool waits)
{
	const struct stall *stall = &stalls->all[process];

	if (!stall->process || process == link->process || asked[process] || stall->well ||
	    stall->set || !is_rank(stalls, process))
		return false;
	return waits ? stall->listens : !is_waiting(stalls, process);
}

static size_t add_askers(struct stalls *stalls, size_t at, const bool *asked, bool waits)
{
	size_t n = 0;

	for (uint32_t i = 1; i < stalls->work->base && n < ASKERS; i++) {
		struct stall_link *link;

		if (!may_still_connect(stalls, i, &stalls->links[at], asked, waits))
			continue;
		link = vec_push(stalls->links, stalls->nlinks);
		if (!link)
			return n;
		*link = stalls->links[at];
		link->to = link->there = i;
		n++;
	}
	return n;
}

/* Move the links of @stall to the end, where others can be added to them. */
static bool move_links(struct stalls *stalls, struct stall *stall)
{
	size_t first = stall->first;

	stall->first = stalls->nlinks;
	for (size_t i = 0; i < stall->n; i++) {
		struct stall_link *link = vec_push(stalls->links, stalls->nlinks);

		if (!link)
			return false;
		*link = stalls->links[first + i];
		stalls->links[first + i].watched = false;
		stalls->links[first + i].process = 0;
	}
	return true;
}

/* A process that waits for a request waits for each rank that may not have sent one. */
static int expand_requests(struct stalls *stalls, struct stall *stall, bool *asked)
{
	size_t n = stall->n;

	if (stall->state != STALL_WAITS || !is_only_idle(stalls, stall) ||
	    !is_rank(stalls, stall->process))
		return 0;
	if (!move_links(stalls, stall))
		return -1;
	for (size_t i = stall->first; i < stall->first + n; i++) {
		if (stalls->links[i].why != STALL_REQUEST)
			continue;
		memset(asked, 0, stalls->n * sizeof(*asked));
		stalls_cm_mark_asked(stalls->work->cm, &stalls->links[i], asked, stalls->n);
		if (!add_askers(stalls, i, asked, false))
			add_askers(stalls, i, asked, true);
	}
	stall->n = stalls->nlinks - stall->first;
	return 0;
}

static int expand_all(struct stalls *stalls)
{
	bool *asked = calloc(stalls->n + 1, sizeof(*asked));
	int err = asked ? 0 : -1;

	for (uint32_t i = 1; i < stalls->n && !err; i++)
		if (stalls->all[i].listens)
			err = expand_requests(stalls, &stalls->all[i], asked);
	free(asked);
	return err;
}

/* Is @link part of the graph? @well: receives from ranks that ended with success count, too. */
static bool is_graph_link(const struct stalls *stalls, const struct stall_link *link, bool well)
{
	if (!link->watched || !stalls->all[link->there].process)
		return false;
	if (is_firm_link(link))
		return true;
	return is_rank(stalls, link->process) && is_rank(stalls, link->to) &&
	       (well || !stalls->all[link->there].well) &&
	       (!is_idle(link) || is_only_idle(stalls, &stalls->all[link->node]));
}

/* The graph */

static int make_graph(struct stalls *stalls, bool *waits, struct wait_link *links, bool well)
{
	size_t n = 0;

	for (size_t i = 0; i < stalls->nlinks; i++) {
		struct stall_link *link = &stalls->links[i];

		link->used = is_graph_link(stalls, link, well);
		if (link->used)
			links[n++] = (struct wait_link){ .from = link->node,
							 .to = link->there,
							 .firm = is_firm_link(link),
							 .received = link->received };
	}
	for (uint32_t i = 0; i < stalls->n; i++)
		waits[i] = is_waiting(stalls, i);
	return wait_graph_build(waits, stalls->n, links, n, &stalls->graph);
}

static int find_blames(struct stalls *stalls)
{
	struct wait_link *links = calloc(stalls->nlinks + 1, sizeof(*links));
	bool *waits = calloc(stalls->n + 1, sizeof(*waits));
	int err = links && waits ? make_graph(stalls, waits, links, false) : -1;

	if (!err && !stalls->graph.nblames) {
		wait_graph_fini(&stalls->graph);
		err = make_graph(stalls, waits, links, true);
	}
	free(links);
	free(waits);
	return err;
}

/* A launcher kills all processes at once; a process that was active until then is not to blame. */
static int64_t choose_end_margin(const struct stall *stall)
{
	return stall->state == STALL_BUSY ? MOMENT_NS : STALL_PATIENCE_NS;
}

/* Mark processes that had ended long before the processes that wait for them. */
static void mark_early_ends(struct stalls *stalls)
{
	for (size_t i = 0; i < stalls->nlinks; i++) {
		const struct stall_link *link = &stalls->links[i];
		const struct stall *from = &stalls->all[link->node];
		struct stall *to = link->used ? &stalls->all[link->there] : NULL;

		if (to && to->ended && !to->well && to->state != STALL_WAITS &&
		    from->state == STALL_WAITS && to->time <= from->time - choose_end_margin(to))
			to->state = STALL_ENDED;
	}
}

/* Does the process have a thread that waits for a node to blame? */
static bool is_stuck(const struct stalls *stalls, uint32_t node)
{
	return stalls->graph.nblames && stalls->graph.blamed[node] &&
	       stalls->all[node].state == STALL_WAITS;
}

static void count_waiting(struct stalls *stalls)
{
	uint32_t base = stalls->work->base;
	bool *stuck = calloc(base + 1, sizeof(*stuck));

	for (uint32_t i = 1; stuck && i < stalls->n; i++) {
		uint32_t process = stalls->all[i].process;

		if (process && !stuck[process] && is_stuck(stalls, i)) {
			stuck[process] = true;
			stalls->waiting++;
		}
	}
	free(stuck);
}

void stalls_finish(struct stalls *stalls, const struct fact_list *facts)
{
	if (stalls_append_parts(stalls) || stalls_read_samples(stalls)) {
		stalls->err = true;
		return;
	}
	stalls_cm_finish(stalls->work->cm, stalls->links, stalls->nlinks);
	stalls_find_nodes(stalls);
	for (uint32_t i = 1; i < stalls->n && i < stalls->work->n; i++)
		set_node_state(stalls, i, facts);
	if (stalls->err || expand_all(stalls) || find_blames(stalls)) {
		stalls->err = true;
		return;
	}
	mark_early_ends(stalls);
	count_waiting(stalls);
}

const struct stall_link *stalls_link_from(const struct stalls *stalls, uint32_t from, uint32_t to)
{
	return stalls_link_to(stalls, &(struct wait_blame){ .nodes = &to, .n = 1 }, from);
}

const struct stall_link *stalls_link_to(const struct stalls *stalls, const struct wait_blame *blame,
					uint32_t from)
{
	const struct stall *stall = &stalls->all[from];
	const struct stall_link *found = NULL;

	for (size_t i = 0; i < stall->n; i++) {
		const struct stall_link *link = &stall_links(stalls, stall)[i];

		if (link->used && wait_blame_has(blame, link->there) &&
		    (!found || (is_firm_link(link) && !is_firm_link(found))))
			found = link;
	}
	return found;
}

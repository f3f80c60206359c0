/*
 * The first screen of a job that hangs: the process to blame, and the processes that wait for it
 *
 *	stuck (7 of 8 processes wait)
 *	  4:66  rank 5 (node n1) called no verb for 2.00 s   step (app.c:20)
 *	    1 waits for it, 6 through others: rank 6 (node n1) qp2 -> qp1, ...
 *	    ranks 0-4, 7: a receive, nothing has come for 2.00 s   await (app.c:40)
 *
 * A circle has a line for each of its processes. If the threads of a process can be distinguished,
 * each set of them waits or not.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/delays.h"
#include "analyzer/facts/facts.h"
#include "analyzer/facts/stalls.h"
#include "analyzer/model/words.h"
#include "analyzer/report/screen.h"
#include "analyzer/report/sentence.h"
#include "analyzer/report/waits_text.h"
#include "core/base/text.h"
#include "core/base/vec.h"

enum { BLAMES_SHOWN = 3, CIRCLE_SHOWN = 4, GROUPS_SHOWN = 3, MOMENT_NS = 250000000 };

static const struct stalls *stalls_of(const struct screen *screen)
{
	return facts_stalls(screen->report->findings->facts);
}

bool screen_has_waits(const struct report *report)
{
	return waits_are_shown(report->trace, facts_stalls(report->findings->facts));
}

/* The process to blame */

/* The reason in the fact about a killed process, if the process left completions; else NULL. */
static const char *find_fact_reason(const struct screen *screen, const struct stall *stall)
{
	const struct fact_list *facts = &screen->report->findings->facts->list;

	if (stall->state != STALL_UNPOLLED && stall->state != STALL_IGNORES)
		return NULL;
	for (size_t i = 0; i < facts->n; i++)
		if (facts->all[i].kind == FACT_KILLED && facts->all[i].process == stall->process)
			return facts->all[i].because;
	return NULL;
}

static void print_culprit(struct screen *screen, uint32_t node)
{
	const struct stall *stall = &stalls_of(screen)->all[node];
	const char *because;
	struct text t = { 0 };
	char id[32];

	text_addf(&t, "%s  ", event_id_text(stall->last.id, id));
	sentence_process(&t, screen->report->trace, stall->process);
	waits_put_thread(&t, screen->report->trace, stalls_thread(stalls_of(screen), node));
	text_addf(&t, " ");
	waits_put_state(&t, screen->report->trace, stall);
	screen_put_place(&t, screen, SCREEN_WAITS, stall->stack);
	if (stall->stack != stall->last.stack)
		text_addf(&t, ", its last post");
	screen_print_wrapped(screen, 2, &t);
	because = find_fact_reason(screen, stall);
	if (because) {
		text_addf(&t, "%s", because);
		screen_print_wrapped(screen, 4, &t);
	}
	text_fini(&t);
}

/* A process that waits for @blame itself, not only for a connection, which another may make. */
static const struct stall_link *find_direct(const struct stalls *stalls,
					    const struct wait_blame *blame)
{
	const struct stall_link *found = NULL;

	for (uint32_t i = 1; i < stalls->n; i++) {
		const struct stall_link *link = stalls_link_to(stalls, blame, i);

		if (!link || stalls->all[i].state != STALL_WAITS)
			continue;
		if (link->why != STALL_REQUEST)
			return link;
		found = found ?: link;
	}
	return found;
}

static void print_waiters(struct screen *screen, const struct wait_blame *blame)
{
	const struct stall_link *link = find_direct(stalls_of(screen), blame);
	struct text t = { 0 };

	text_addf(&t, "%zu %s for it", blame->direct, blame->direct == 1 ? "waits" : "wait");
	if (blame->all > blame->direct)
		text_addf(&t, ", %zu through others", blame->all - blame->direct);
	if (link) {
		text_addf(&t, ": ");
		waits_put_link(&t, screen->report->trace, link);
		screen_put_place(&t, screen, SCREEN_WAITS, link->stack);
	}
	screen_print_wrapped(screen, 4, &t);
	text_fini(&t);
}

static bool are_threads(const struct stalls *stalls, const struct wait_blame *blame)
{
	for (size_t i = 0; i < blame->n; i++)
		if (!stalls_thread(stalls, blame->nodes[i]))
			return false;
	return true;
}

static void print_circle(struct screen *screen, const struct wait_blame *blame)
{
	const struct stalls *stalls = stalls_of(screen);
	struct trace *trace = screen->report->trace;
	char name[PROCESS_TEXT];
	struct text t = { 0 };

	text_addf(&t, "%zu %s wait for each other, in a circle", blame->n,
		  are_threads(stalls, blame) ? "threads" : "processes");
	if (blame->all)
		text_addf(&t, ", and %zu for them", blame->all);
	screen_print_wrapped(screen, 2, &t);
	for (size_t i = 0; i < blame->n && i < CIRCLE_SHOWN; i++) {
		const struct stall *stall = &stalls->all[blame->nodes[i]];
		const struct stall_link *link =
			stalls_link_from(stalls, blame->nodes[i], blame->nodes[(i + 1) % blame->n]);

		if (!link)
			continue;
		waits_put_link(&t, trace, link);
		screen_put_place(&t, screen, SCREEN_WAITS, link->stack ?: stall->stack);
		screen_print_wrapped(screen, 4, &t);
	}
	for (size_t i = CIRCLE_SHOWN; i < blame->n; i++)
		text_addf(&t, "%s%s", i == CIRCLE_SHOWN ? "and " : ", ",
			  process_id_text(stalls->all[blame->nodes[i]].process, name));
	if (t.used)
		screen_print_wrapped(screen, 4, &t);
	text_fini(&t);
}

/* The other findings, in groups of similar ones */

struct wait_group {
	uint64_t key;
	uint32_t *processes; /* in the order of their numbers, or of ranks */
	size_t n;
	const struct stall_link *link; /* of the first */
};

struct wait_groups {
	struct wait_group *all;
	size_t n;
};

/* The link that the node is known to wait for: a firm one. */
static const struct stall_link *find_main_link(const struct stalls *stalls, uint32_t node)
{
	const struct stall *stall = &stalls->all[node];
	const struct stall_link *found = NULL;

	for (size_t i = 0; i < stall->n; i++) {
		const struct stall_link *link = &stall_links(stalls, stall)[i];

		if (link->used &&
		    (!found || (found->why == STALL_MESSAGE && link->why != STALL_MESSAGE)))
			found = link;
	}
	return found;
}

/* Add a process; several sets of threads of one process count once. */
static void add_member(struct wait_group *alike, const struct stall_link *link)
{
	uint32_t *member;

	for (size_t i = alike->n; link->thread && i-- > 0;)
		if (alike->processes[i] == link->process)
			return;
	member = vec_push(alike->processes, alike->n);
	if (member)
		*member = link->process;
}

static void add_alike(struct screen *screen, struct wait_groups *alikes, uint32_t node)
{
	const struct stall_link *link = find_main_link(stalls_of(screen), node);
	struct wait_group *alike = alikes->all, *end = alikes->all + alikes->n;
	uint64_t key;

	if (!link)
		return;
	key = screen_line_key(screen->report, link->why, link->stack);
	while (alike < end && alike->key != key)
		alike++;
	if (alike == end) {
		alike = vec_push(alikes->all, alikes->n);
		if (!alike)
			return;
		*alike = (struct wait_group){ .key = key, .link = link };
	}
	add_member(alike, link);
}

static int compare_alikes(const void *a, const void *b)
{
	const struct wait_group *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->processes[0] < y->processes[0] ? -1 : 1;
}

static void print_alike(struct screen *screen, const struct wait_group *alike)
{
	struct trace *trace = screen->report->trace;
	struct text t = { 0 };

	if (alike->n > 1) {
		waits_put_processes(&t, trace, alike->processes, alike->n);
		text_addf(&t, ", each like ");
	}
	waits_put_link(&t, trace, alike->link);
	screen_put_place(&t, screen, SCREEN_WAITS, alike->link->stack);
	screen_print_wrapped(screen, 4, &t);
	text_fini(&t);
}

/* All processes that ultimately wait for blame @nth. */
static void print_blamed_waits(struct screen *screen, uint32_t nth)
{
	const struct stalls *stalls = stalls_of(screen);
	const struct wait_blame *blame = &stalls->graph.blames[nth];
	const struct stall_link *direct = find_direct(stalls, blame);
	struct wait_groups alikes = { 0 };
	size_t shown = 0, left = 0;
	struct text t = { 0 };

	for (uint32_t i = 1; i < stalls->n; i++)
		if (stalls->graph.blamed[i] == nth + 1 && stalls->all[i].state == STALL_WAITS &&
		    !wait_blame_has(blame, i))
			add_alike(screen, &alikes, i);
	if (alikes.n)
		qsort(alikes.all, alikes.n, sizeof(*alikes.all), compare_alikes);
	for (size_t i = 0; i < alikes.n; i++) {
		const struct wait_group *alike = &alikes.all[i];

		if ((alike->n > 1 || alike->link != direct) && shown < GROUPS_SHOWN) {
			print_alike(screen, alike);
			shown++;
		} else {
			left += alike->n > 1 || alike->link != direct;
		}
		free(alike->processes);
	}
	screen_print_more(screen, &t, left, "groups of processes");
	free(alikes.all);
	text_fini(&t);
}

/* All places that may be printed. */
static void add_places(struct screen *screen)
{
	const struct stalls *stalls = stalls_of(screen);

	for (size_t i = 0; i < stalls->graph.nblames && i < BLAMES_SHOWN; i++)
		for (size_t k = 0; k < stalls->graph.blames[i].n; k++) {
			uint32_t node = stalls->graph.blames[i].nodes[k];

			places_add(screen->places, SCREEN_WAITS, stalls->all[node].stack);
		}
	for (size_t i = 0; i < stalls->nlinks; i++)
		if (stalls->links[i].used)
			places_add(screen->places, SCREEN_WAITS, stalls->links[i].stack);
}

void screen_print_waits(struct screen *screen)
{
	const struct stalls *stalls = stalls_of(screen);
	const struct wait_graph *graph = &stalls->graph;
	struct text t = { 0 };

	add_places(screen);
	text_addf(&t, "stuck (%zu of %zu processes wait)", stalls->waiting, stalls->processes);
	wrap_mark(&screen->spans, 0, t.used, STYLE_HEAD);
	screen_print_wrapped(screen, 0, &t);
	for (uint32_t i = 0; i < graph->nblames && i < BLAMES_SHOWN; i++) {
		const struct wait_blame *blame = &graph->blames[i];

		if (blame->n == 1) {
			print_culprit(screen, blame->nodes[0]);
			print_waiters(screen, blame);
		} else {
			print_circle(screen, blame);
		}
		print_blamed_waits(screen, i);
	}
	screen_print_more(screen, &t,
			  graph->nblames > BLAMES_SHOWN ? graph->nblames - BLAMES_SHOWN : 0,
			  "that others wait for");
	text_fini(&t);
}

/* The rank that was late */

/* The pair that waited longest because of @process. */
static const struct delay_pair *find_longest(const struct delays *delays, uint32_t process)
{
	const struct delay_pair *found = NULL;

	for (size_t i = 0; i < delays->npairs; i++)
		if (delays->pairs[i].cause == process &&
		    (!found || delays->pairs[i].ns > found->ns))
			found = &delays->pairs[i];
	return found;
}

void screen_print_late(struct screen *screen)
{
	const struct delays *delays = facts_delays(screen->report->findings->facts);
	const struct delay_cause *cause = delays->most ? &delays->causes[delays->most] : NULL;
	const struct delay_pair *longest = find_longest(delays, delays->most);
	struct trace *trace = screen->report->trace;
	const struct object *qp = cause ? trace_object(trace, cause->qp) : NULL;
	char id[32], when[32], name[PROCESS_TEXT], n[WORDS_COUNT];
	struct text t = { 0 };

	if (!cause || !longest)
		return;
	places_add(screen->places, SCREEN_LATE, cause->first.stack);
	text_addf(&t, "late (1 of %zu processes)", stalls_of(screen)->processes);
	wrap_mark(&screen->spans, 0, t.used, STYLE_HEAD);
	screen_print_wrapped(screen, 0, &t);
	text_addf(&t, "%s  ", event_id_text(cause->first.id, id));
	sentence_process(&t, trace, delays->most);
	text_addf(&t, " %s ", qp && qp->name ? qp->name : "");
	waits_put_late(&t, delays, delays->most);
	screen_put_place(&t, screen, SCREEN_LATE, cause->first.stack);
	screen_print_wrapped(screen, 2, &t);
	text_addf(&t, "%s waited longest for it: %s in %s", process_id_text(longest->waiter, name),
		  words_format_span(longest->ns, when),
		  words_format_count(longest->times, "wait", n));
	screen_print_wrapped(screen, 4, &t);
	text_fini(&t);
}

/* Processes that were killed */

struct killed_processes {
	int signal;
	uint32_t *processes;
	size_t n;
	int64_t first, last; /* when */
};

static struct killed_processes *find_killed(struct killed_processes *all, size_t n, int signal,
					    int64_t time)
{
	/* a launcher kills all of a job within a moment */
	for (size_t i = 0; i < n; i++)
		if (all[i].signal == signal && time - all[i].last < MOMENT_NS)
			return &all[i];
	return NULL;
}

static size_t collect_killed(const struct fact_list *facts, struct killed_processes **ret_all)
{
	struct killed_processes *all = NULL, *killed;
	uint32_t *process;
	size_t n = 0;

	for (size_t i = 0; i < facts->n; i++) {
		const struct fact *fact = &facts->all[i];

		if (fact->kind != FACT_KILLED || !fact->count)
			continue;
		killed = find_killed(all, n, fact->error, fact->time);
		if (!killed && (killed = vec_push(all, n)))
			*killed = (struct killed_processes){ .signal = fact->error,
							     .first = fact->time };
		process = killed ? vec_push(killed->processes, killed->n) : NULL;
		if (!process)
			break;
		*process = fact->process;
		killed->last = fact->time;
	}
	*ret_all = all;
	return n;
}

void screen_print_killed(struct screen *screen)
{
	const struct report *report = screen->report;
	struct killed_processes *all;
	size_t n = collect_killed(&report->findings->facts->list, &all);
	char first[32], last[32], name[16];
	struct text t = { 0 };

	for (size_t i = 0; i < n; i++) {
		const char *signal = all[i].signal > 0 ? sigabbrev_np(all[i].signal) : NULL;

		snprintf(name, sizeof(name), "SIG%s", signal ?: "");
		waits_put_processes(&t, report->trace, all[i].processes, all[i].n);
		text_addf(&t, "%s%s at %s", signal ? " by " : "", signal ? name : "",
			  words_format_span(all[i].first, first));
		if (strcmp(words_format_span(all[i].last, last), first) != 0)
			text_addf(&t, " to %s", last);
		if (i < GROUPS_SHOWN)
			screen_print_wrapped(screen, 2, &t);
		text_cut(&t, 0);
		free(all[i].processes);
	}
	screen_print_more(screen, &t, n > GROUPS_SHOWN ? n - GROUPS_SHOWN : 0, "times");
	free(all);
	text_fini(&t);
}

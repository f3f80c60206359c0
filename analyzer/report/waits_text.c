/*
 * The waits of processes in words
 */
#include "analyzer/report/waits_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/delays.h"
#include "analyzer/facts/last_seen.h"
#include "analyzer/model/words.h"
#include "core/wire/desc.h"

enum { SHOWN = 3 /* processes without a rank */, RANGES = 12 };

static bool is_rank(struct trace *trace, uint32_t process)
{
	const struct process *p = trace_process(trace, process);

	return p && p->rank.rank >= 0;
}

bool waits_are_shown(struct trace *trace, const struct stalls *stalls)
{
	const struct wait_graph *graph = &stalls->graph;

	if (stalls->err || !graph->nblames || !stalls->waiting)
		return false;
	return graph->blames[0].all + graph->blames[0].n > 2 ||
	       is_rank(trace, graph->blames[0].nodes[0]);
}

static const char *name_of(struct trace *trace, uint32_t object)
{
	const struct object *found = trace_object(trace, object);

	return found && found->name ? found->name : "a queue pair";
}

/* A process that does not wait */

static void put_ended(struct text *t, const struct stall *stall)
{
	const char *signal = stall->signal > 0 ? sigabbrev_np(stall->signal) : NULL;
	char when[32];

	if (signal)
		text_addf(t, "was killed by SIG%s", signal);
	else if (stall->signal == 0)
		text_addf(t, "was killed");
	else if (stall->status > 0)
		text_addf(t, "ended with status %d", stall->status);
	else
		text_addf(t, "ended%s", stall->well ? " with success" : "");
	text_addf(t, " at %s", words_format_span(stall->time, when));
}

static void put_verb(struct text *t, const struct stall *stall)
{
	const char *error = stall->error > 0 ? strerrorname_np(stall->error) : NULL;
	char when[32];

	text_addf(t, "; its last verb, %s(),%s%s %s earlier", verb_infos[stall->last.verb].name,
		  error ? " failed with " : "", error ?: "",
		  words_format_span(stall->time - stall->last.time, when));
}

static void put_misled(struct text *t, const struct stall *stall)
{
	char name[PROCESS_TEXT];

	text_addf(t, "%s is connected to %s of %s, whose peer is another queue pair", stall->object,
		  stall->other_qp[0] ? stall->other_qp : "a queue pair",
		  process_id_text(stall->other, name));
	if (stall->others)
		text_addf(t, "; %s is connected to it", process_id_text(stall->others, name));
}

static void put_unpolled(struct text *t, struct trace *trace, const struct stall *stall)
{
	char n[WORDS_COUNT], when[32];

	text_addf(t, "does not poll %s: %s of %s had come to it, the first %s earlier",
		  stall->object, words_format_count(stall->count, "completion", n),
		  name_of(trace, stall->qp), words_format_span(stall->time - stall->since, when));
}

/* The process called no verb: it does something else. */
static void put_without_verbs(struct text *t, const struct stall *stall)
{
	char id[32], when[32], n[WORDS_COUNT], seen[LAST_SEEN_TEXT];

	if (stall->forked.id.thread)
		text_addf(t, "called %s(), %s, and no verb since, for %s", stall->how,
			  event_id_text(stall->forked.id, id),
			  words_format_span(stall->time - stall->forked.time, when));
	else
		text_addf(t, "called no verb for %s",
			  words_format_span(stall->time - stall->last.time, when));
	if (stall->count)
		text_addf(t, "; %s had come to %s",
			  words_format_count(stall->count, "completion", n), stall->object);
	if (*last_seen_describe(stall, seen))
		text_addf(t, "; %s", seen);
}

void waits_put_state(struct text *t, struct trace *trace, const struct stall *stall)
{
	char n[WORDS_COUNT], when[32], id[32];

	switch (stall->state) {
	case STALL_WELL:
	case STALL_ENDED:
		put_ended(t, stall);
		break;
	case STALL_STOPPED:
		last_seen_put_stopped(t, stall);
		break;
	case STALL_MISLED:
		put_misled(t, stall);
		break;
	case STALL_HUNG:
		text_addf(t, "is in %s, %s, for %s", stall->what ? stall->what : "a call",
			  event_id_text(stall->hung, id),
			  words_format_span(stall->time - stall->since, when));
		return;
	case STALL_UNPOLLED:
		put_unpolled(t, trace, stall);
		break;
	case STALL_FULL:
		text_addf(t,
			  "has filled the send queue of %s: %s outstanding, none of them signalled",
			  stall->object, words_format_count(stall->count, "request", n));
		break;
	case STALL_IGNORES:
		text_addf(t, "polls another CQ than %s, where completions of %s come",
			  stall->object, name_of(trace, stall->qp));
		break;
	case STALL_NOTHING_OUTSTANDING:
		text_addf(t, "polls %s in vain (%s): no outstanding request completes in it",
			  stall->object, words_format_count(stall->count, "time", n));
		break;
	case STALL_QUIET:
		put_without_verbs(t, stall);
		break;
	default:
		text_addf(t, "was at work");
		break;
	}
	put_verb(t, stall);
}

/* A process that waits */

void waits_put_thread(struct text *t, struct trace *trace, uint32_t id)
{
	const struct thread *thread = id ? trace_thread(trace, id) : NULL;

	if (!thread)
		return;
	text_addf(t, " thread %u (", id);
	if (thread->comm && *thread->comm)
		text_addf(t, "%s, ", thread->comm);
	text_addf(t, "TID %d)", thread->tid);
}

static void put_connecting(struct text *t, const struct stall_link *link)
{
	char id[32];

	event_id_text(link->request, id);
	if (link->why == STALL_CONNECT)
		text_addf(t, "rdma_connect() %s, not accepted", id);
	else if (link->why == STALL_ACCEPT)
		text_addf(t, "rdma_accept() %s, not established", id);
	else if (link->why == STALL_REQUEST)
		text_addf(t, "no request for a connection");
	else
		text_addf(t, "connected, no event");
}

static void put_awaited(struct text *t, const struct stall_link *link)
{
	const struct enum_info *opcodes = enum_find("ibv_wr_opcode");
	const char *opcode = enum_name(opcodes, link->opcode);
	char n[WORDS_COUNT], id[32];

	if (link->cmid)
		put_connecting(t, link);
	else if (link->request.thread)
		text_addf(t, "%s %s", opcode ?: "a request", event_id_text(link->request, id));
	else
		text_addf(t, "%s, %s has come", words_format_count(link->outstanding, "receive", n),
			  link->why == STALL_DATAGRAM ? "no datagram" : "nothing");
}

/* An identifier of librdmacm may have no queue pair yet. */
static void put_end(struct text *t, struct trace *trace, uint32_t process, uint32_t thread,
		    uint32_t qp, bool cm)
{
	char name[PROCESS_TEXT];

	text_addf(t, "%s", process ? process_id_text(process, name) : "an unknown process");
	waits_put_thread(t, trace, thread);
	if (qp || !cm)
		text_addf(t, " %s", name_of(trace, qp));
}

void waits_put_link(struct text *t, struct trace *trace, const struct stall_link *link)
{
	char when[32];

	put_end(t, trace, link->process, link->thread, link->qp, link->cmid);
	text_addf(t, " -> ");
	put_end(t, trace, link->to, link->their_thread, link->other, link->cmid);
	text_addf(t, ": ");
	put_awaited(t, link);
	text_addf(t, " for %s", words_format_span(link->until - link->since, when));
	if (link->why == STALL_CREDIT)
		text_addf(t, ", with no receive posted");
}

/* Late ranks */

static const char *const late_hows[DELAY_HOWS] = {
	[DELAY_SEND] = "with its messages",
	[DELAY_RECEIVE] = "with its receives",
	[DELAY_POLL] = "with its polls: completions were in its CQs",
	[DELAY_REGISTER] = "as it registered memory",
};

void waits_put_late(struct text *t, const struct delays *delays, uint32_t process)
{
	const struct delay_cause *cause = &delays->causes[process];
	char late[32], waited[32], n[WORDS_COUNT];
	size_t waiters = 0;

	for (size_t i = 0; i < delays->npairs; i++)
		waiters += delays->pairs[i].cause == process;
	text_addf(t, "was late %s, for %s, %s: %d %% of all waiting, %s of %zu processes",
		  words_format_count(cause->times, "time", n), words_format_span(cause->late, late),
		  late_hows[delays_main_reason(cause)],
		  (int)(100 * cause->ns / (delays->waited ?: 1)),
		  words_format_span(cause->ns, waited), waiters);
}

/* Lists of processes */

static int compare_ranks(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* "0-4, 7"; @ranks is sorted. */
static void put_ranges(struct text *t, const int *ranks, size_t n)
{
	unsigned int ranges = 0;

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && ranks[next] == ranks[next - 1] + 1;)
			next++;
		if (ranges++ == RANGES) {
			text_addf(t, " and %zu more", n - i);
			return;
		}
		text_addf(t, "%s%d", i ? ", " : "", ranks[i]);
		if (next - i > 1)
			text_addf(t, "%s%d", next - i > 2 ? "-" : ", ", ranks[next - 1]);
	}
}

static void put_ranks(struct text *t, struct trace *trace, const uint32_t *processes, size_t n)
{
	int *ranks = calloc(n, sizeof(*ranks));

	if (!ranks) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		ranks[i] = trace_process(trace, processes[i])->rank.rank;
	qsort(ranks, n, sizeof(*ranks), compare_ranks);
	text_addf(t, "%zu ranks: ", n);
	put_ranges(t, ranks, n);
	free(ranks);
}

void waits_put_processes(struct text *t, struct trace *trace, const uint32_t *processes, size_t n)
{
	char name[PROCESS_TEXT];
	size_t ranks = 0;

	for (size_t i = 0; i < n; i++)
		ranks += is_rank(trace, processes[i]);
	if (ranks == n && n > 1) {
		put_ranks(t, trace, processes, n);
		return;
	}
	for (size_t i = 0; i < n && i < SHOWN; i++)
		text_addf(t, "%s%s", i ? ", " : "", process_id_text(processes[i], name));
	if (n > SHOWN)
		text_addf(t, " and %zu more", n - SHOWN);
}

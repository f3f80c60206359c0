/*
 * Long waits for a completion that came at last
 *
 *	thread		post --- empty polls, or ibv_get_cq_event() --- poll: 1 completion
 *	the peer	verb -------- no verb ----------------- verb
 *
 * The longest of each process is a fact if it took a good part of its run. It says what the peer
 * did meanwhile if that called no verb: then the time was spent there, outside of the verbs.
 */
#include "analyzer/facts/pauses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"

enum {
	LONG_NS = 500000000,
	SHARE = 4,           /* of the run of its process */
	EACH_NS = 100000000, /* a thread that waits polls as often, at least */
	SOON_NS = 50000000,  /* from the event to the poll */
	PART = 5,            /* the peer's silence may be shorter by this part */
	TEXT = 128,
};

/* From one verb to the next. */
struct gap {
	int64_t from, to;
	struct event_id first, last;
};

struct pause {
	struct gap gap;             /* .to is 0: none */
	uint32_t thread, qp, other; /* qp: object, 0 not known; other: the peer's process, or 0 */
	bool receive, slept;
	uint64_t empty; /* polls */
};

struct pauses {
	struct trace *trace;
	struct fact_list *facts;
	struct thread_last {
		struct gap last;  /* its last verb: .from, .first */
		struct gap sleep; /* the last call of ibv_get_cq_event(), if it took long */
	} * threads;
	size_t nthreads;
	struct process_last {
		struct gap last;    /* as above */
		struct gap silence; /* the longest time without a verb */
		struct pause pause; /* the longest */
	} * processes;
	size_t nprocesses;
};

struct pauses *pauses_new(struct trace *trace, struct fact_list *facts)
{
	struct pauses *pauses = calloc(1, sizeof(*pauses));

	if (pauses) {
		pauses->trace = trace;
		pauses->facts = facts;
	}
	return pauses;
}

void pauses_free(struct pauses *pauses)
{
	if (!pauses)
		return;
	free(pauses->threads);
	free(pauses->processes);
	free(pauses);
}

static struct thread_last *thread_of(struct pauses *pauses, uint32_t thread)
{
	while (pauses->nthreads <= thread)
		if (!vec_push(pauses->threads, pauses->nthreads))
			return NULL;
	return &pauses->threads[thread];
}

static struct process_last *process_of(struct pauses *pauses, uint32_t process)
{
	while (pauses->nprocesses <= process)
		if (!vec_push(pauses->processes, pauses->nprocesses))
			return NULL;
	return &pauses->processes[process];
}

/* The queue pair of the completion that ended the wait, and its peer. */
static void note_qp(const struct pauses *pauses, struct model *model,
		    const struct trace_event *event, struct pause *pause)
{
	const struct object *object = trace_object(pauses->trace, event->poll->wc[0].qp);
	const struct life *qp =
		object ? model_life(model, event->process, OBJECT_qp, object->handle) : NULL;
	const struct peer *other;

	if (!qp || qp->id != event->poll->wc[0].qp)
		return;
	pause->qp = qp->id;
	other = qp->peer ? peer_other(model_peers(model), qp->peer) : NULL;
	if (other && other->process != event->process)
		pause->other = other->process;
}

static void note_completion(struct pauses *pauses, struct model *model,
			    const struct trace_event *event, struct thread_last *thread)
{
	struct process_last *process = process_of(pauses, event->process);
	bool slept = thread->sleep.to && event->time - thread->sleep.to < SOON_NS;
	const struct gap *start = slept ? &thread->sleep : &thread->last;
	int64_t lasted = event->time - start->from;

	if (!process || !start->from || lasted < LONG_NS ||
	    (!slept && (int64_t)event->poll->empty < lasted / EACH_NS) ||
	    lasted <= process->pause.gap.to - process->pause.gap.from)
		return;
	process->pause =
		(struct pause){ .gap = { start->from, event->time, start->first, event->id },
				.thread = event->id.thread,
				.receive = event->poll->wc[0].opcode & ABI_WC_RECV,
				.slept = slept,
				.empty = event->poll->empty };
	note_qp(pauses, model, event, &process->pause);
}

static void note_verb(struct process_last *process, const struct trace_event *event)
{
	struct gap *last = &process->last, *silence = &process->silence;

	if (last->from && event->time - last->from > silence->to - silence->from)
		*silence = (struct gap){ last->from, event->time, last->first, event->id };
	last->from = event->time;
	last->first = event->id;
}

void pauses_event(struct pauses *pauses, struct model *model, const struct trace_event *event)
{
	struct thread_last *thread = thread_of(pauses, event->id.thread);
	struct process_last *process = process_of(pauses, event->process);

	if (!thread || !process)
		return;
	note_verb(process, event);
	if (event->kind == TRACE_POLL && event->poll->nwc) {
		note_completion(pauses, model, event, thread);
		thread->sleep.to = 0;
	}
	thread->last.from = event->time;
	thread->last.first = event->id;
}

void pauses_return(struct pauses *pauses, const struct trace_event *event)
{
	struct thread_last *thread = thread_of(pauses, event->id.thread);

	if (!thread)
		return;
	if (event->call->verb == VERB_get_cq_event && !event->call->failed &&
	    event->time - thread->last.from >= LONG_NS) {
		thread->sleep = thread->last;
		thread->sleep.to = event->time;
	}
	thread->last.from = event->time;
}

static int64_t overlap_of(const struct gap *a, const struct gap *b)
{
	int64_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;

	return to > from ? to - from : 0;
}

static void put_peer(struct text *t, const struct pauses *pauses, uint32_t id,
		     const struct pause *pause)
{
	const struct process_last *other =
		pause->other < pauses->nprocesses ? &pauses->processes[pause->other] : NULL;
	int64_t lasted = pause->gap.to - pause->gap.from;
	char name[TEXT], first[32], last[32], when[32];

	if (!pause->other || !other ||
	    overlap_of(&other->silence, &pause->gap) < lasted - lasted / PART ||
	    trace_slack(pauses->trace, pause->other, id) > lasted / PART)
		return;
	text_addf(t, "; peer %s called no verb from %s to %s, for %s",
		  words_process(pauses->trace, pause->other, name, sizeof(name)),
		  event_id_text(other->silence.first, first),
		  event_id_text(other->silence.last, last),
		  words_span(other->silence.to - other->silence.from, when));
}

static void put_wait(struct text *t, const struct pauses *pauses, uint32_t process,
		     const struct pause *pause)
{
	const struct object *qp = trace_object(pauses->trace, pause->qp);
	char n[WORDS_COUNT], id[32];

	text_addf(t, "a %s%s%s completed", pause->receive ? "receive" : "send",
		  qp && qp->name ? " of " : "", qp && qp->name ? qp->name : "");
	if (pause->slept)
		text_addf(t, " when thread %u had been in ibv_get_cq_event() %s", pause->thread,
			  event_id_text(pause->gap.first, id));
	else
		text_addf(t, " when thread %u had polled its CQ empty %s", pause->thread,
			  words_count(pause->empty, "time", n));
	put_peer(t, pauses, process, pause);
}

static void add_pause(struct pauses *pauses, uint32_t id, const struct pause *pause)
{
	const struct process *process = trace_process(pauses->trace, id);
	int64_t lasted = pause->gap.to - pause->gap.from, run;
	char name[TEXT], when[32], first[32], last[32];
	struct text t = { 0 };
	struct fact *fact;

	if (!pause->gap.to || !process || process->end < 0)
		return;
	run = process->end - process->start;
	if (lasted < run / SHARE ||
	    !(fact = fact_count(pauses->facts, FACT_PAUSED, fact_key(id, FACT_PAUSED, 0), id)))
		return;
	fact->event = pause->gap.last;
	fact->thread = pause->thread;
	fact->verb = VERB_COUNT;
	fact->time = pause->gap.from;
	fact->lasted = lasted;
	words_process(pauses->trace, id, name, sizeof(name));
	if (asprintf(&fact->what, "%s for %s, %d %% of its run, from %s to %s", name,
		     words_span(lasted, when), (int)(100 * lasted / run),
		     event_id_text(pause->gap.first, first),
		     event_id_text(pause->gap.last, last)) < 0)
		fact->what = NULL;
	put_wait(&t, pauses, id, pause);
	fact->because = t.failed ? NULL : strdup(t.at);
	text_fini(&t);
}

void pauses_finish(struct pauses *pauses)
{
	for (uint32_t id = 1; id < pauses->nprocesses; id++)
		add_pause(pauses, id, &pauses->processes[id].pause);
}

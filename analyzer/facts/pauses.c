/*
 * Long waits for a completion that came at last
 *
 *	thread		post --- empty polls, or ibv_get_cq_event() --- poll: 1 completion
 *	the peer	verb -------- no verb ----------------- verb
 *
 * The longest wait of each process is a fact if it took a good part of the run. The fact mentions
 * the peer if the peer called no verb meanwhile: then the time was spent in the peer, outside of
 * the verbs.
 */
#include "analyzer/facts/pauses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"

enum {
	LONG_NS = 500000000,
	RUN_SHARE = 4,       /* 1/RUN_SHARE of the run of the process makes a wait a fact */
	EACH_NS = 100000000, /* a waiting thread polls at least once in this time */
	SOON_NS = 50000000,  /* from the event to the poll */
	PART = 5,            /* the peer's silence may be shorter by 1/PART of the wait */
	TEXT = 128,
};

struct pause {
	struct last_point from, to; /* to.time is 0: none */
	uint32_t thread, qp, other; /* qp: object, 0 not known; other: the peer's process, or 0 */
	bool receive, slept;
	uint64_t empty; /* polls */
};

/* A call of ibv_get_cq_event() that took long. */
struct long_wait {
	struct last_point from;
	int64_t to;
};

struct pauses {
	struct trace *trace;
	struct fact_list *facts;
	struct long_wait *sleeps; /* waits after which the thread has not polled yet */
	size_t nsleeps;
	struct pause *longest; /* by process */
	size_t nlongest;
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
	free(pauses->sleeps);
	free(pauses->longest);
	free(pauses);
}

static struct pause *longest_pause_of(struct pauses *pauses, uint32_t process)
{
	return vec_at(pauses->longest, pauses->nlongest, process);
}

/*
 * The begin of the sleep that ended just before @event in the same thread; .id is 0:0 if there is
 * none. Removes this sleep and all that ended earlier.
 */
static struct last_point remove_sleep(struct pauses *pauses, const struct trace_event *event)
{
	struct last_point from = { 0 };

	for (size_t i = pauses->nsleeps; i-- > 0;) {
		const struct long_wait *sleep = &pauses->sleeps[i];
		bool recent = event->time - sleep->to < SOON_NS;
		bool own = sleep->from.id.thread == event->id.thread;

		if (recent && own)
			from = sleep->from;
		if (!recent || own)
			pauses->sleeps[i] = pauses->sleeps[--pauses->nsleeps];
	}
	return from;
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
	other = peer_find_other(model_peers(model), qp->peer);
	if (other && other->process != event->process)
		pause->other = other->process;
}

/* @last: what the thread did before the poll. */
static __attribute__((noinline)) void examine_pause(struct pauses *pauses, struct model *model,
						    const struct trace_event *event,
						    const struct last_verb *last)
{
	struct last_point from;
	struct pause *longest;
	int64_t lasted;
	bool slept;

	from = remove_sleep(pauses, event);
	slept = from.id.thread;
	if (!slept)
		from = (struct last_point){ last->at.id, last->returned };
	lasted = event->time - from.time;
	longest = longest_pause_of(pauses, event->process);
	if (!longest || lasted < LONG_NS ||
	    (!slept && (int64_t)event->poll->empty < lasted / EACH_NS) ||
	    lasted <= longest->to.time - longest->from.time)
		return;
	*longest = (struct pause){ .from = from,
				   .to = { event->id, event->time },
				   .thread = event->id.thread,
				   .receive = event->poll->wc[0].opcode & ABI_WC_RECV,
				   .slept = slept,
				   .empty = event->poll->empty };
	note_qp(pauses, model, event, longest);
}

void pauses_note_poll(struct pauses *pauses, struct model *model, const struct trace_event *event)
{
	const struct last_verb *last = last_verb_of_thread(model, event->id.thread);

	if (last && (event->time - last->returned >= LONG_NS || pauses->nsleeps))
		examine_pause(pauses, model, event, last);
}

void pauses_note_return(struct pauses *pauses, const struct model *model,
			const struct trace_event *event)
{
	const struct last_verb *last = last_verb_of_thread(model, event->id.thread);
	struct long_wait *sleep;

	if (!last || event->call->verb != VERB_get_cq_event || event->call->failed ||
	    event->time - last->at.time < LONG_NS)
		return;
	remove_sleep(pauses, event);
	sleep = vec_push(pauses->sleeps, pauses->nsleeps);
	if (sleep)
		*sleep = (struct long_wait){ last->at, event->time };
}

static int64_t overlap_of(const struct last_silence *silence, const struct pause *pause)
{
	int64_t a = silence->from.time, b = silence->to.time;
	int64_t from = a > pause->from.time ? a : pause->from.time;
	int64_t to = b < pause->to.time ? b : pause->to.time;

	return to > from ? to - from : 0;
}

static void put_peer(struct text *t, const struct pauses *pauses, const struct model *model,
		     uint32_t id, const struct pause *pause)
{
	struct last_silence silence = last_verb_process(model, pause->other).silence;
	int64_t lasted = pause->to.time - pause->from.time;
	char name[TEXT], first[32], last[32], when[32];

	if (!pause->other || overlap_of(&silence, pause) < lasted - lasted / PART ||
	    trace_order_uncertainty(pauses->trace, pause->other, id) > lasted / PART)
		return;
	text_addf(t, "; peer %s called no verb from %s to %s, for %s",
		  words_name_process(pauses->trace, pause->other, name, sizeof(name)),
		  event_id_text(silence.from.id, first), event_id_text(silence.to.id, last),
		  words_format_span(silence.to.time - silence.from.time, when));
}

static void put_wait(struct text *t, const struct pauses *pauses, const struct model *model,
		     uint32_t process, const struct pause *pause)
{
	const struct object *qp = trace_object(pauses->trace, pause->qp);
	char n[WORDS_COUNT], id[32];

	text_addf(t, "a %s%s%s completed", pause->receive ? "receive" : "send",
		  qp && qp->name ? " of " : "", qp && qp->name ? qp->name : "");
	if (pause->slept)
		text_addf(t, " when thread %u had been in ibv_get_cq_event() %s", pause->thread,
			  event_id_text(pause->from.id, id));
	else
		text_addf(t, " when thread %u had polled its CQ empty %s", pause->thread,
			  words_format_count(pause->empty, "time", n));
	put_peer(t, pauses, model, process, pause);
}

static void add_pause(struct pauses *pauses, const struct model *model, uint32_t id,
		      const struct pause *pause)
{
	const struct process *process = trace_process(pauses->trace, id);
	int64_t lasted = pause->to.time - pause->from.time, run;
	char name[TEXT], when[32], first[32], last[32];
	struct text t = { 0 };
	struct fact *fact;

	if (!pause->to.time || !process || process->end < 0)
		return;
	run = process->end - process->start;
	if (lasted < run / RUN_SHARE ||
	    !(fact = fact_count(pauses->facts, FACT_PAUSED, fact_key(id, FACT_PAUSED, 0), id)))
		return;
	fact->event = pause->to.id;
	fact->thread = pause->thread;
	fact->verb = VERB_COUNT;
	fact->time = pause->from.time;
	fact->lasted = lasted;
	words_name_process(pauses->trace, id, name, sizeof(name));
	if (asprintf(&fact->what, "%s for %s, %d %% of its run, from %s to %s", name,
		     words_format_span(lasted, when), (int)(100 * lasted / run),
		     event_id_text(pause->from.id, first), event_id_text(pause->to.id, last)) < 0)
		fact->what = NULL;
	put_wait(&t, pauses, model, id, pause);
	fact->because = t.failed ? NULL : strdup(t.at);
	text_fini(&t);
}

void pauses_finish(struct pauses *pauses, const struct model *model)
{
	for (uint32_t id = 1; id < pauses->nlongest; id++)
		add_pause(pauses, model, id, &pauses->longest[id]);
}

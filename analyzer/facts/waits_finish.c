/*
 * At the end of the trace: which waits were in vain; completes the sentences of all waits
 *
 * How often each thread polled a CQ in vain is known only then: a process that ended with success
 * has waited if it polled a CQ, or slept on a channel, for which nothing could come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/waits_priv.h"
#include "analyzer/model/words.h"
#include "core/base/vec.h"

enum {
	LONG_NS = 500000000,
	RUN_SHARE = 4, /* 1/RUN_SHARE of the run of the process is long */
	BRIEF = 10,
	MANY_POLLS = 100, /* empty polls: a program that only checks a CQ makes fewer */
};

static const struct wait_threads *find_wait(const struct waits *waits, size_t fact)
{
	for (size_t i = 0; i < waits->nthreads; i++)
		if (waits->threads[i].fact == fact)
			return &waits->threads[i];
	return NULL;
}

static const struct activity_note *find_threads(const struct waits *waits, size_t fact)
{
	const struct wait_threads *threads = find_wait(waits, fact);

	return threads ? &threads->note : NULL;
}

/* Did a thread poll for @ns or longer after @from? */
static bool has_polled_for(const struct waits *waits, const struct activity_note *note,
			   int64_t from, int64_t ns)
{
	int64_t since = activity_polled_since(waits->activity, note);

	return activity_count_empty(waits->activity, note, 0) >= MANY_POLLS &&
	       note->time - (since > from ? since : from) >= ns;
}

/* Did the process wait for long after a RESET dropped its receives? */
static bool is_dropped_awaited(const struct waits *waits, const struct wait_dropped *dropped,
			       const struct activity_note *note)
{
	return dropped->receives && (activity_find_sleep(note, 0) ||
				     has_polled_for(waits, note, dropped->reset.time, PATIENCE_NS));
}

static void put_dropped(struct text *t, const struct waits *waits, size_t fact)
{
	const struct wait_threads *threads = find_wait(waits, fact);
	const struct wait_dropped *dropped = threads ? &threads->dropped : NULL;
	char id[32], n[WORDS_COUNT];

	if (!threads || !is_dropped_awaited(waits, dropped, &threads->note))
		return;
	text_addf(t,
		  "%s%s of %s had no completion when the queue pair went to RESET at %s: RESET "
		  "removes requests without a completion, only ERR flushes them",
		  t->used ? "; " : "", words_format_count(dropped->receives, "receive", n),
		  dropped->qp, event_id_text(dropped->reset.id, id));
}

/* Is there a fact about the process, with a sentence of its own? */
static bool has_fact(const struct waits *waits, uint32_t process)
{
	for (size_t i = 0; i < waits->facts->n; i++)
		if ((waits->facts->all[i].kind == FACT_KILLED ||
		     waits->facts->all[i].kind == FACT_EXITED ||
		     waits->facts->all[i].kind == FACT_WAITED) &&
		    waits->facts->all[i].process == process)
			return true;
	return false;
}

/*
 * @wait: what the process waited for; NULL: nothing. The fact already has the last verb of the
 * process.
 */
static void put_threads(struct text *t, const struct waits *waits, size_t fact,
			const struct wait *wait)
{
	const struct activity_note *note = find_threads(waits, fact);
	const struct event_id *last = &waits->facts->all[fact].event;
	size_t begin = t->used;
	bool known;

	if (!note || (!wait && note->time - note->quiet < PATIENCE_NS))
		return;
	known = !wait || (note->last.id.thread == last->thread && note->last.id.n == last->n);
	activity_describe(waits->activity, note, known ? NULL : "this process", t);
	if (!begin && t->used)
		memmove(t->at, t->at + 2, t->used - 1);
	if (wait && !has_fact(waits, wait->process))
		waits_describe_peers(t, waits, wait);
}

/* Did the process wait only for completions that cannot come? */
static bool is_unsignalled_wait(const struct waits *waits, const struct wait *wait,
				const struct activity_note *note)
{
	uint64_t here = activity_count_empty(waits->activity, note, wait->cq.id);

	return wait->cq.sleeps ||
	       (here >= WAIT_POLLS && activity_count_empty(waits->activity, note, 0) == here);
}

static bool is_watched(const struct waits *waits, const struct wait *wait,
		       const struct activity_note *note)
{
	return wait->cq.sleeps ||
	       (note && activity_count_empty(waits->activity, note, wait->cq.id) >= WAIT_POLLS);
}

/*
 * The receives that the process waits for, if they are on several CQs: those of a CQ that it polls,
 * else those that waits_note_exit() preferred.
 */
static const struct wait *find_watched(const struct waits *waits, const struct wait *wait,
				       const struct activity_note *note)
{
	const struct wait *preferred = wait, *watched = NULL;

	for (size_t i = 0; i < waits->n; i++) {
		const struct wait *other = &waits->all[i];

		if (other->fact != wait->fact || other->oldest.thread || other->mute)
			continue;
		if (!other->alternative)
			preferred = other;
		if (other->alternative && !watched && is_watched(waits, other, note))
			watched = other;
	}
	return preferred->cq.lying || is_watched(waits, preferred, note) || !watched ? preferred
										     : watched;
}

static bool is_awaited(const struct waits *waits, const struct wait *wait)
{
	const struct activity_note *note = find_threads(waits, wait->fact);

	if (!wait->oldest.thread && !wait->mute)
		return find_watched(waits, wait, note) == wait;
	if (wait->soon)
		return note && activity_count_empty(waits->activity, note, 0) >= MANY_POLLS;
	return !wait->mute || (note && is_unsignalled_wait(waits, wait, note));
}

/* The program polls another CQ than that of the queue pair. */
static void put_ignored(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct activity_note *note = find_threads(waits, wait->fact);
	const struct wait_cq *cq = &wait->cq;

	if (note && cq->id && !wait->mute && !cq->sleeps &&
	    activity_count_empty(waits->activity, note, 0) >= WAIT_POLLS &&
	    activity_is_ignored(waits->activity, note, cq->id))
		text_addf(t, "; its completion comes to %s, which no thread polled", cq->name);
}

/* Append the sentences to those that the fact has already. */
static void put_sentences(struct text *t, const struct waits *waits, size_t fact)
{
	const char *before = waits->facts->all[fact].because;
	const struct wait *first = NULL;

	if (before)
		text_addf(t, "%s", before);
	for (size_t i = 0; i < waits->n; i++) {
		if (waits->all[i].fact != fact || !is_awaited(waits, &waits->all[i]))
			continue;
		if (!first)
			first = &waits->all[i];
		text_addf(t, "%s", t->used ? "; " : "");
		waits_describe(t, waits, &waits->all[i], find_threads(waits, fact));
		put_ignored(t, waits, &waits->all[i]);
	}
	put_dropped(t, waits, fact);
	if (find_threads(waits, fact))
		waits_describe_dropped(t, waits, find_threads(waits, fact));
	put_threads(t, waits, fact, first);
}

static void finish_fact(struct waits *waits, size_t i)
{
	struct fact *fact = &waits->facts->all[i];
	struct text t = { 0 };

	put_sentences(&t, waits, i);
	if (!t.failed && t.used) {
		free(fact->because);
		fact->because = strdup(t.at);
	}
	text_fini(&t);
}

/* Had the completion arrived without an event, and was it not polled? */
static bool has_missed_event(const struct wait *wait)
{
	const struct wait_cq *cq = &wait->cq;

	if (cq->lying && cq->deaf.thread)
		return true;
	if (!cq->lying || !cq->has_channel)
		return false;
	if (!cq->wake.armed.id.thread)
		return cq->sleeps || cq->other[0]; /* otherwise the program may poll periodically */
	return !cq->wake.is_armed || cq->wake.armed.time > cq->wake.since ||
	       (cq->wake.solicited && !cq->wake.asked);
}

/* Was the wait a good part of the run of its process? */
static bool is_long(const struct waits *waits, const struct activity_note *note)
{
	const struct process *process = trace_process(waits->trace, note->process);
	int64_t lasted = note->time - note->quiet;

	return process && note->quiet && lasted >= LONG_NS &&
	       lasted >= (note->time - process->start) / RUN_SHARE;
}

/* Has the process polled other CQs for long, and never the CQ of its sends? */
static bool is_polling_others(const struct waits *waits, const struct wait *late,
			      const struct activity_note *note)
{
	return late->oldest.thread && late->cq.id && !late->cq.sleeps && is_long(waits, note) &&
	       has_polled_for(waits, note, note->quiet, LONG_NS) &&
	       activity_is_ignored(waits->activity, note, late->cq.id);
}

/*
 * Did the process poll for more completions than it had requests, or for one that another thread
 * had polled? A thread that polls for other threads does not count: it polls whenever there is
 * nothing to do. It counts if two threads share a CQ, and polled BRIEF times as long as the program
 * had worked.
 */
static bool is_barren_awaited(const struct waits *waits, const struct wait_before *well)
{
	const struct activity_note *note = &well->note;
	bool shared;

	return is_long(waits, note) && has_polled_for(waits, note, note->quiet, PATIENCE_NS) &&
	       activity_expects_nothing(waits->activity, note, well->poster, &shared) &&
	       (!shared ||
		(well->poster && (note->quiet - well->began) * BRIEF <= note->time - note->quiet));
}

/*
 * Will the peer send nothing? Then it has no receive for the message that it may wait for, or waits
 * itself.
 */
static bool is_standstill(const struct waits *waits, const struct wait *wait)
{
	const struct peer_work *work = &wait->work;

	if (work->state == ABI_QPS_ERR)
		return work->moved.time <= wait->end - PATIENCE_NS;
	if (!work->known)
		return false;
	if (wait->both)
		return activity_find_sleep(&wait->theirs, 0) ||
		       activity_count_empty(waits->activity, &wait->theirs, 0) >= WAIT_POLLS;
	return work->received && !work->room;
}

/*
 * A wait is in vain only if nothing could come, or if both ends stand still: an idle end may wait
 * long for a message.
 */
static bool is_wait_in_vain(const struct waits *waits, const struct wait_before *well)
{
	const struct wait *late = &well->late;
	const struct peer_work *work = &late->work;

	if (well->mute.end && is_unsignalled_wait(waits, &well->mute, &well->note))
		return true;
	if (!late->end)
		return is_dropped_awaited(waits, &well->dropped, &well->note) ||
		       is_barren_awaited(waits, well);
	if (has_missed_event(late) || is_polling_others(waits, late, &well->note) ||
	    (late->unflushed.id.thread && is_long(waits, &well->note) &&
	     has_polled_for(waits, &well->note, late->unflushed.time, PATIENCE_NS)))
		return true;
	if (activity_count_empty(waits->activity, &well->note, late->cq.id) < WAIT_POLLS)
		return false;
	if (late->oldest.thread)
		return late->process && !late->arrived;
	return (work->known && work->writes && !work->to_receives && !late->completed) ||
	       (late->process && is_long(waits, &well->note) && is_standstill(waits, late));
}

static void add_vain_wait(struct waits *waits, struct wait_before *well)
{
	struct fact *fact = fact_count(waits->facts, FACT_WAITED,
				       fact_key(well->process, FACT_WAITED, 0), well->process);
	char name[LIFE_NAME + 64], lasted[32], end[32];
	const struct activity_note *note = &well->note;

	if (!fact)
		return;
	fact->event = note->last.id;
	fact->verb = note->last.verb;
	fact->time = note->quiet ?: note->last.time;
	fact->lasted = note->time - fact->time;
	words_name_process(waits->trace, well->process, name, sizeof(name));
	if (asprintf(&fact->what, "%s for %s, until %s", name,
		     words_format_span(fact->lasted, lasted),
		     words_format_span(note->time, end)) < 0)
		fact->what = NULL;
	waits_store_before(waits, well, (size_t)(fact - waits->facts->all));
}

static bool have_both_polled(const struct wait_given_up *given_up)
{
	return given_up->empty >= WAIT_POLLS && (given_up->their_empty >= WAIT_POLLS ||
						 activity_find_sleep(&given_up->late.theirs, 0));
}

/* Add the wait of @process that it gave up to send the rest over another connection. */
static void add_given_up(struct waits *waits, uint32_t process, struct wait_given_up *given_up)
{
	char name[LIFE_NAME + 64], lasted[32], end[32];
	struct wait *wait;
	struct fact *fact;

	if (!given_up->resumed || !have_both_polled(given_up) || has_fact(waits, process) ||
	    has_fact(waits, given_up->late.process))
		return;
	wait = vec_push(waits->all, waits->n);
	fact = wait ? fact_count(waits->facts, FACT_WAITED, fact_key(process, FACT_WAITED, 0),
				 process)
		    : NULL;
	if (!fact)
		return;
	fact->event = given_up->last.id;
	fact->verb = given_up->last.verb;
	fact->time = given_up->quiet;
	fact->lasted = given_up->late.end - given_up->quiet;
	words_name_process(waits->trace, process, name, sizeof(name));
	if (asprintf(&fact->what, "%s for %s, until %s, and connected again", name,
		     words_format_span(fact->lasted, lasted),
		     words_format_span(given_up->late.end, end)) < 0)
		fact->what = NULL;
	*wait = given_up->late;
	wait->fact = (size_t)(fact - waits->facts->all);
	wait->both_polled = true;
	given_up->late = (struct wait){ 0 };
	finish_fact(waits, wait->fact);
}

void waits_finish(struct waits *waits)
{
	for (size_t i = 0; i < waits->nwell; i++)
		if (waits->well[i].process && is_wait_in_vain(waits, &waits->well[i]))
			add_vain_wait(waits, &waits->well[i]);
	for (size_t i = 0; i < waits->nthreads; i++)
		finish_fact(waits, waits->threads[i].fact);
	for (size_t i = 0; i < waits->ngiven_up; i++)
		if (waits->given_up[i].late.end)
			add_given_up(waits, (uint32_t)i, &waits->given_up[i]);
}

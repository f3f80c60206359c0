/*
 * What processes and their threads did last
 *
 *	thread 2	post ---- poll: 1 ------------------------------- end
 *				            empty polls: total of the thread and CQ,
 *				            less those before each completion
 *
 * If several threads poll one CQ, a thread may wait for a completion that another thread has
 * polled.
 */
#include "analyzer/facts/activity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"

enum {
	SENTENCES_SHOWN = 3, /* sentences about threads */
	FEW_EMPTY_POLLS =
		2,    /* empty polls: a loop that drains a CQ ends with one, and does not wait */
	CQS_MAX = 64, /* of one thread */
	PATIENCE_NS = 250000000
};

#define NOTHING_OUTSTANDING ", with no outstanding request that completes in the CQ"

/* A CQ that a thread polls. */
struct polled_cq {
	uint32_t cq; /* object */
	uint64_t handle;
	uint64_t empty;         /* polls before the last completion */
	struct event_id polled; /* the last poll that returned completions; 0:0: none */
	uint32_t qp;            /* of the last completion: object, 0: not known */
	uint32_t most;          /* completions of one poll, */
	struct event_id full;   /* the first poll that filled its array */
	/* the last completion whose request another thread had posted, and that request */
	struct event_id taken, request;
};

/* The last call of a thread that waits for an event. */
struct sleep {
	struct moment at; /* id 0:0: none, or it has returned */
	uint64_t channel;
	uint64_t tries; /* calls without an event, since the last call that got one */
};

struct thread_acts {
	uint32_t process;
	struct sleep sleep;
	struct polled_cq *cqs;
	size_t ncqs;
};

/* Empty polls of a CQ by a thread. */
struct empty_poll_count {
	uint32_t process, thread, cq;
	uint64_t empty;
};

/* Poll counts of all processes, by process: read once, as the table has no index. */
struct poll_counts {
	bool read;
	size_t part; /* index of the trace's part that is being read */
	struct trace *trace;
	struct empty_poll_count *all;
	size_t n;
};

struct activity {
	struct trace *trace;
	struct poll_counts *counts;
	struct thread_acts *threads; /* by thread */
	size_t nthreads;
};

/* What a thread did with a CQ, or the event wait that it sleeps in (cq.cq is 0). */
struct cq_activity {
	uint32_t thread;
	struct sleep sleep;
	struct polled_cq cq;
	char name[LIFE_NAME];    /* of the CQ, or of the channel that no CQ or identifier uses */
	enum object_kind unused; /* kind of that channel; 0: it is used, or not known */
	bool barren;             /* no outstanding request can complete on the CQ */
};

struct activity *activity_new(struct trace *trace)
{
	struct activity *activity = calloc(1, sizeof(*activity));

	if (!activity || !(activity->counts = calloc(1, sizeof(*activity->counts)))) {
		free(activity);
		return NULL;
	}
	activity->trace = activity->counts->trace = trace;
	return activity;
}

void activity_free(struct activity *activity)
{
	if (!activity)
		return;
	for (size_t i = 0; i < activity->nthreads; i++)
		free(activity->threads[i].cqs);
	free(activity->threads);
	free(activity->counts->all);
	free(activity->counts);
	free(activity);
}

static inline struct thread_acts *thread_of(struct activity *activity, uint32_t thread)
{
	return vec_at(activity->threads, activity->nthreads, thread);
}

static __attribute__((noinline, cold)) struct polled_cq *add_cq(struct thread_acts *acts,
								const struct poll *poll)
{
	struct polled_cq *cq = acts->ncqs < CQS_MAX ? vec_push(acts->cqs, acts->ncqs) : NULL;

	if (cq)
		*cq = (struct polled_cq){ .cq = poll->object, .handle = poll->handle };
	return cq;
}

static struct polled_cq *find_cq(struct thread_acts *acts, const struct poll *poll)
{
	for (size_t i = 0; i < acts->ncqs; i++)
		if (acts->cqs[i].cq == poll->object)
			return &acts->cqs[i];
	return add_cq(acts, poll);
}

void activity_note_poll(struct activity *activity, const struct trace_event *event)
{
	struct thread_acts *acts = thread_of(activity, event->id.thread);
	const struct poll *poll = event->poll;
	struct polled_cq *cq = acts && poll->object ? find_cq(acts, poll) : NULL;

	if (!cq)
		return;
	acts->process = event->process;
	cq->empty += poll->empty;
	if (!poll->nwc)
		return;
	cq->polled = event->id;
	cq->qp = poll->wc[poll->nwc - 1].qp;
	if (poll->nwc > cq->most) {
		cq->most = poll->nwc;
		cq->full = event->id;
	}
	for (uint32_t i = 0; i < poll->nwc; i++) {
		struct event_id request = poll->wc[i].request;

		if (!request.thread || request.thread == event->id.thread)
			continue;
		cq->taken = event->id;
		cq->request = request;
	}
}

void activity_note_call(struct activity *activity, const struct trace_event *event)
{
	bool waits = verb_infos[event->call->verb].blocks;
	struct thread_acts *acts = waits ? thread_of(activity, event->id.thread) : NULL;
	int64_t channel = 0;

	if (!acts)
		return;
	acts->process = event->process;
	acts->sleep.at = moment_of(event);
	if (event->call->args && !args_get(event->call->args, ARG(channel), &channel))
		args_get(event->call->args, ARG(listen), &channel);
	acts->sleep.channel = (uint64_t)channel;
}

void activity_note_return(struct activity *activity, const struct trace_event *event)
{
	struct sleep *sleep;

	if (event->id.thread >= activity->nthreads)
		return;
	sleep = &activity->threads[event->id.thread].sleep;
	sleep->at.id.thread = 0;
	if (event->call->verb == VERB_get_cq_event)
		sleep->tries =
			event->call->failed && event->call->error == EAGAIN ? sleep->tries + 1 : 0;
}

/* The state of a thread at one moment */

static void add_polled_cq(const struct model *model, const struct thread_acts *acts,
			  uint32_t thread, const struct polled_cq *cq, struct activity_note *note)
{
	const struct life *life = model_life(model, acts->process, OBJECT_cq, cq->handle);
	struct cq_activity *then = vec_push(note->all, note->n);

	if (!then)
		return;
	then->thread = thread;
	then->cq = *cq;
	if (!life || life->id != cq->cq)
		return;
	snprintf(then->name, sizeof(then->name), "%s", life->name);
	then->barren = queues_expect_none(life);
}

/* Can no completion come on any CQ of a channel? */
static bool expects_no_completion(const struct model *model, uint32_t process, uint64_t handle)
{
	const struct life *channel = model_life(model, process, OBJECT_comp_channel, handle);
	bool barren = false;

	for (const struct life_link *link = channel ? channel->children : NULL; link;
	     link = link->next_child) {
		if (link->child->kind == OBJECT_cq && !queues_expect_none(link->child))
			return false;
		barren |= link->child->kind == OBJECT_cq;
	}
	return barren;
}

static bool has_live_child(const struct life *life)
{
	const struct life_link *link = life->children;

	while (link && link->child->state != LIFE_LIVE)
		link = link->next_child;
	return link;
}

/* Note the name of a channel that has no events, since no object sends them to it. */
static void note_unused_channel(const struct model *model, uint32_t process,
				struct cq_activity *then)
{
	static const enum object_kind kinds[] = { OBJECT_comp_channel, OBJECT_cm_channel };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct life *channel =
			model_life(model, process, kinds[i], then->sleep.channel);

		if (!channel || channel->state != LIFE_LIVE || channel->inherited ||
		    channel->borrowed || has_live_child(channel))
			continue;
		then->unused = kinds[i];
		snprintf(then->name, sizeof(then->name), "%s", channel->name);
	}
}

/* A call whose return is not in the trace ends at the next verb at the latest. */
static bool is_asleep(const struct model *model, uint32_t thread, const struct sleep *sleep)
{
	const struct last_verb *last = last_verb_of_thread(model, thread);

	return sleep->at.id.thread && last && last->at.id.n == sleep->at.id.n;
}

void activity_store_sleep(const struct activity *activity, const struct model *model,
			  uint32_t process, int64_t time, struct activity_note *ret_note)
{
	const struct last_verb *last = last_verb_of_process(model, process);

	activity_drop(ret_note);
	ret_note->process = process;
	ret_note->time = time;
	if (last)
		ret_note->last = last_verb_moment(last);
	ret_note->quiet = last_verb_progress(model, process);
	for (uint32_t thread = 1; thread < activity->nthreads; thread++) {
		const struct thread_acts *acts = &activity->threads[thread];
		struct cq_activity *then;
		bool asleep;

		if (acts->process != process)
			continue;
		for (size_t i = 0; i < acts->ncqs; i++)
			add_polled_cq(model, acts, thread, &acts->cqs[i], ret_note);
		asleep = is_asleep(model, thread, &acts->sleep);
		if ((!asleep && !acts->sleep.tries) ||
		    !(then = vec_push(ret_note->all, ret_note->n)))
			continue;
		then->thread = thread;
		then->sleep = acts->sleep;
		if (!asleep)
			then->sleep.at.id.thread = 0;
		then->barren = expects_no_completion(model, process, acts->sleep.channel);
		note_unused_channel(model, process, then);
	}
}

void activity_drop(struct activity_note *note)
{
	free(note->all);
	*note = (struct activity_note){ 0 };
}

void activity_forget_sleeps(struct activity_note *note, bool (*is)(void *arg, uint32_t thread),
			    void *arg)
{
	for (size_t i = 0; i < note->n; i++)
		if (is(arg, note->all[i].thread))
			note->all[i].sleep = (struct sleep){ 0 };
}

const struct moment *activity_find_sleep(const struct activity_note *note, uint64_t channel)
{
	for (size_t i = 0; i < note->n; i++)
		if (note->all[i].sleep.at.id.thread &&
		    (!channel || note->all[i].sleep.channel == channel))
			return &note->all[i].sleep.at;
	return NULL;
}

/* At the end of the trace */

/* Reports the empty polls of a process, one thread and CQ after the other. */
struct poll_report {
	const struct activity *activity;
	const struct activity_note *note;
	struct text *t; /* NULL: only count */
	unsigned int nsentences;
	uint32_t cq; /* 0: all */
	uint64_t empty;
	void (*each)(void *arg, uint32_t thread, uint32_t cq, uint64_t empty); /* may be NULL */
	void *arg;
};

static const struct cq_activity *find_noted_cq(const struct activity_note *note, uint32_t thread,
					       uint32_t cq)
{
	for (size_t i = 0; i < note->n; i++)
		if (note->all[i].thread == thread && note->all[i].cq.cq == cq)
			return &note->all[i];
	return NULL;
}

/* The completion of a request of @thread that another thread has polled from @cq. */
static const struct cq_activity *find_other_poll(const struct activity_note *note, uint32_t thread,
						 uint32_t cq)
{
	for (size_t i = 0; i < note->n; i++)
		if (note->all[i].thread != thread && note->all[i].cq.cq == cq &&
		    note->all[i].cq.request.thread == thread)
			return &note->all[i];
	return NULL;
}

/* Another thread that has polled completions from the CQ. */
static const struct cq_activity *find_other(const struct activity_note *note, uint32_t thread,
					    uint32_t cq)
{
	for (size_t i = 0; i < note->n; i++)
		if (note->all[i].thread != thread && note->all[i].cq.cq == cq &&
		    note->all[i].cq.polled.thread)
			return &note->all[i];
	return NULL;
}

/* Did the thread get a completion from the CQ later? */
static bool has_polled_later(const struct activity *activity, const struct cq_activity *then,
			     uint32_t thread, uint32_t cq)
{
	const struct thread_acts *acts =
		thread < activity->nthreads ? &activity->threads[thread] : NULL;

	for (size_t i = 0; acts && i < acts->ncqs; i++)
		if (acts->cqs[i].cq == cq)
			return !then || acts->cqs[i].polled.n != then->cq.polled.n;
	return false;
}

/* If several threads poll the CQ: the queue pair of the completion. */
static void put_qp(const struct poll_report *telling, const struct cq_activity *then)
{
	const struct activity_note *note = telling->note;
	const struct object *qp;

	for (size_t i = 0; then && then->cq.qp && i < note->n; i++) {
		if (note->all[i].cq.cq != then->cq.cq || note->all[i].thread == then->thread)
			continue;
		qp = trace_object(telling->activity->trace, then->cq.qp);
		if (qp && qp->name)
			text_addf(telling->t, " of %s", qp->name);
		return;
	}
}

/* A program that waits for more completions than can come may have ignored all but the first. */
static void put_ignored_completions(const struct poll_report *telling,
				    const struct cq_activity *then)
{
	char id[32];

	if (then && then->barren && then->cq.most > 1)
		text_addf(telling->t, "; its poll %s returned %u completions",
			  event_id_text(then->cq.full, id), then->cq.most);
}

static void put_empty(const struct poll_report *telling, uint32_t thread, uint32_t cq,
		      uint64_t empty)
{
	const struct cq_activity *then = find_noted_cq(telling->note, thread, cq);
	const struct cq_activity *taken = find_other_poll(telling->note, thread, cq);
	const struct cq_activity *shared = find_other(telling->note, thread, cq);
	const struct object *object = trace_object(telling->activity->trace, cq);
	char id[32], n[WORDS_COUNT];
	struct text *t = telling->t;

	text_addf(t, "; thread %u polled %s empty %s", thread,
		  then && then->name[0]    ? then->name
		  : object && object->name ? object->name
					   : "a CQ",
		  words_format_count(empty, "time", n));
	if (!then || !then->cq.polled.thread)
		text_addf(t, " and never found a completion");
	else
		text_addf(t, " after its last completion, %s", event_id_text(then->cq.polled, id));
	put_qp(telling, then);
	if ((then && then->barren) || (taken && taken->barren) || (shared && shared->barren))
		text_addf(t, NOTHING_OUTSTANDING);
	put_ignored_completions(telling, then);
	if (shared && !taken)
		text_addf(t, "; thread %u has polled completions there, too, the last %s",
			  shared->thread, event_id_text(shared->cq.polled, id));
	if (taken) {
		text_addf(t, "; thread %u polled the completion of its %s", taken->thread,
			  event_id_text(taken->cq.request, id));
		text_addf(t, " there, %s", event_id_text(taken->cq.taken, id));
	}
}

static void describe_empty(struct poll_report *telling, const struct empty_poll_count *count)
{
	const struct cq_activity *then = find_noted_cq(telling->note, count->thread, count->cq);
	uint64_t before = then ? then->cq.empty : 0;

	if (!count->cq || (telling->cq && telling->cq != count->cq) || count->empty <= before ||
	    has_polled_later(telling->activity, then, count->thread, count->cq))
		return;
	telling->empty += count->empty - before;
	if (telling->each)
		telling->each(telling->arg, count->thread, count->cq, count->empty - before);
	if (!telling->t || count->empty - before < FEW_EMPTY_POLLS ||
	    telling->nsentences++ >= SENTENCES_SHOWN)
		return;
	put_empty(telling, count->thread, count->cq, count->empty - before);
}

static void add_count(void *arg, const struct lookup_count *row)
{
	struct poll_counts *counts = arg;
	struct empty_poll_count *count = vec_push(counts->all, counts->n);
	struct event_id first = { row->thread, 1 };

	if (!count)
		return;
	*count = (struct empty_poll_count){
		.process = trace_whole_process(counts->trace, counts->part, row->process),
		.thread = trace_whole_event(counts->trace, counts->part, first).thread,
		.cq = trace_whole_object(counts->trace, counts->part, row->object),
		.empty = row->empty,
	};
}

static int compare_counts(const void *a, const void *b)
{
	const struct empty_poll_count *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->cq < y->cq ? -1 : x->cq > y->cq;
}

static void read_counts(struct poll_counts *counts)
{
	if (counts->read)
		return;
	counts->read = true;
	for (; counts->part < trace_nparts(counts->trace); counts->part++)
		lookup_counts(trace_part(counts->trace, counts->part), 0, LOOKUP_BY_CQ, add_count,
			      counts);
	if (counts->n)
		qsort(counts->all, counts->n, sizeof(*counts->all), compare_counts);
}

static bool is_before(const void *count, const void *process)
{
	return ((const struct empty_poll_count *)count)->process < *(const uint32_t *)process;
}

/* Were all completions of @process recorded? */
static bool has_all_completions(struct trace *trace, uint32_t process)
{
	const char *filter = trace_process_meta(trace, process, "filter");
	struct trace_loss loss = trace_process_loss(trace, process);

	return !trace_is_live(trace) && trace_sampling_factor(trace) == 1 &&
	       (!filter || !*filter) && !loss.events && !loss.damaged && !loss.interrupted;
}

static void describe_polls(struct poll_report *telling)
{
	struct poll_counts *counts = telling->activity->counts;
	uint32_t process = telling->note->process;

	if (!has_all_completions(telling->activity->trace, process))
		return;
	read_counts(counts);
	for (size_t i = vec_count_before(counts->all, counts->n, sizeof(*counts->all), is_before,
					 &process);
	     i < counts->n && counts->all[i].process == process; i++)
		describe_empty(telling, &counts->all[i]);
}

static void describe_sleeps(struct poll_report *telling)
{
	const struct activity_note *note = telling->note;
	char id[32], when[32], n[WORDS_COUNT];

	for (size_t i = 0; i < note->n; i++) {
		const struct sleep *sleep = &note->all[i].sleep;
		const struct moment *at = &sleep->at;

		if (sleep->tries > FEW_EMPTY_POLLS && telling->nsentences++ < SENTENCES_SHOWN)
			text_addf(telling->t, "; thread %u called ibv_get_cq_event() %s: EAGAIN",
				  note->all[i].thread, words_format_count(sleep->tries, "time", n));
		if (!at->id.thread || note->time - at->time < PATIENCE_NS ||
		    telling->nsentences++ >= SENTENCES_SHOWN)
			continue;
		text_addf(telling->t, "; thread %u was in %s() since %s, %s", note->all[i].thread,
			  verb_infos[at->verb].name, event_id_text(at->id, id),
			  words_format_span(note->time - at->time, when));
		if (note->all[i].barren)
			text_addf(telling->t, NOTHING_OUTSTANDING);
		if (note->all[i].unused)
			text_addf(telling->t, ": no %s uses %s",
				  note->all[i].unused == OBJECT_cm_channel ? "identifier" : "CQ",
				  note->all[i].name);
	}
}

void activity_describe(const struct activity *activity, const struct activity_note *note,
		       const char *name, struct text *t)
{
	struct poll_report telling = { .activity = activity, .note = note, .t = t };
	char id[32], when[32];

	if (!note->last.id.thread)
		return;
	describe_polls(&telling);
	describe_sleeps(&telling);
	if (telling.nsentences > SENTENCES_SHOWN)
		text_addf(t, "; %s like these",
			  WORDS_N(telling.nsentences - SENTENCES_SHOWN, "more thread"));
	else if (name && !telling.nsentences && telling.empty < FEW_EMPTY_POLLS &&
		 note->time - note->last.time >= PATIENCE_NS)
		text_addf(t, "; %s called no verb%s after %s, for %s", name,
			  telling.empty ? " but for an empty poll" : "",
			  event_id_text(note->last.id, id),
			  words_format_span(note->time - note->last.time, when));
}

uint64_t activity_count_empty(const struct activity *activity, const struct activity_note *note,
			      uint32_t cq)
{
	struct poll_report telling = { .activity = activity, .note = note, .cq = cq };

	describe_polls(&telling);
	return telling.empty;
}

uint64_t activity_count_thread_empty(const struct activity *activity, uint32_t thread, uint32_t cq)
{
	const struct thread_acts *acts =
		thread < activity->nthreads ? &activity->threads[thread] : NULL;
	const struct thread *of = trace_thread(activity->trace, thread);
	struct poll_counts *counts = activity->counts;
	uint64_t empty = 0;

	if (!of || !has_all_completions(activity->trace, of->process))
		return 0;
	read_counts(counts);
	for (size_t i = 0; i < counts->n; i++)
		if (counts->all[i].thread == thread && counts->all[i].cq == cq)
			empty += counts->all[i].empty;
	for (size_t i = 0; acts && i < acts->ncqs; i++)
		if (acts->cqs[i].cq == cq)
			empty -= acts->cqs[i].empty < empty ? acts->cqs[i].empty : empty;
	return empty;
}

bool activity_polls_only(const struct activity *activity, uint32_t thread, uint32_t cq)
{
	const struct thread *of = trace_thread(activity->trace, thread);
	const struct poll_counts *counts = activity->counts;

	if (!of || !has_all_completions(activity->trace, of->process))
		return false;
	read_counts(activity->counts);
	for (size_t i = 0; i < counts->n; i++)
		if (counts->all[i].thread == thread && counts->all[i].cq != cq &&
		    counts->all[i].empty >= FEW_EMPTY_POLLS)
			return false;
	return true;
}

bool activity_polls_at(const struct activity *activity, uint32_t thread, int64_t time)
{
	/* several parts have different clocks */
	return trace_nparts(activity->trace) == 1 &&
	       lookup_is_polling_at(trace_part(activity->trace, 0), thread, time);
}

struct poll_search {
	const struct activity *activity;
	uint32_t process;
	int64_t since;
};

static void note_poll_sample(void *arg, const struct lookup_sample *sample)
{
	struct poll_search *polling = arg;
	const struct thread *thread = trace_thread(polling->activity->trace, sample->thread);

	if (thread && thread->process == polling->process && sample->doing &&
	    !strcmp(sample->doing, "polls") && sample->time < polling->since)
		polling->since = sample->time;
}

int64_t activity_polled_since(const struct activity *activity, const struct activity_note *note)
{
	struct poll_search polling = { activity, note->process, INT64_MAX };

	if (trace_nparts(activity->trace) == 1)
		lookup_last_samples(trace_part(activity->trace, 0), note_poll_sample, &polling);
	return polling.since;
}

bool activity_is_ignored(const struct activity *activity, const struct activity_note *note,
			 uint32_t cq)
{
	for (size_t i = 0; i < note->n; i++)
		if (note->all[i].cq.cq == cq)
			return false;
	return has_all_completions(activity->trace, note->process) &&
	       !activity_count_empty(activity, note, cq);
}

struct barren_check {
	const struct activity_note *note;
	uint32_t thread;
	bool polls, fails, shared;
};

static void check_barren(void *arg, uint32_t thread, uint32_t cq, uint64_t empty)
{
	struct barren_check *barren = arg;
	const struct cq_activity *then = find_other_poll(barren->note, thread, cq);

	(void)empty;
	if (!then && thread == barren->thread)
		then = find_noted_cq(barren->note, thread, cq);
	if (!then && (then = find_other(barren->note, thread, cq)))
		barren->shared = true;
	barren->polls = true;
	barren->fails |= !then || !then->barren || !then->cq.polled.thread;
}

bool activity_expects_nothing(const struct activity *activity, const struct activity_note *note,
			      uint32_t thread, bool *ret_shared)
{
	struct barren_check barren = { .note = note, .thread = thread };
	bool known = activity_visit_empty(activity, note, check_barren, &barren);

	*ret_shared = barren.shared;
	return known && barren.polls && !barren.fails;
}

bool activity_visit_empty(const struct activity *activity, const struct activity_note *note,
			  void (*each)(void *arg, uint32_t thread, uint32_t cq, uint64_t empty),
			  void *arg)
{
	struct poll_report telling = {
		.activity = activity, .note = note, .each = each, .arg = arg
	};

	if (!has_all_completions(activity->trace, note->process))
		return false;
	describe_polls(&telling);
	return true;
}

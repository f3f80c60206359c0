/*
 * Waits for requests that are not signalled, in the middle of a run
 *
 *	thread		post ---- empty polls ----------- post --- poll: 1 completion
 *	its CQ		nothing that can complete	   something
 *
 * Empty polls are counted: their number is known at the thread's next poll that finds a completion,
 * or at the end of the trace. The thread certainly polled before its next post if it cannot have
 * made all of the empty polls after that, or if a sample of the recorder shows it.
 *
 * A program that signals one request of many may poll while it has nothing to do: that is not a
 * wait. So the request must be an exception on its queue, or the program must have waited for each
 * of them.
 */
#include "analyzer/facts/unsignalled_waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/activity.h"
#include "analyzer/facts/fact.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"
#include "core/base/vec.h"

enum {
	PATIENCE_NS = 250000000,
	MANY_POLLS = 100,
	SEEN_POLLS = 16, /* enough empty polls if a sample shows that the thread polled */
	FASTEST_NS = 20, /* an empty poll takes longer */
	/* all but 1/UNSIGNALLED_SHARE of the requests are signalled: the others are exceptions */
	UNSIGNALLED_SHARE = 4,
};

/* The wait of a thread; .from.time is 0: none. */
struct unsignalled_wait {
	struct moment from;   /* the post that was not signalled */
	struct event_id next; /* the event after the wait, of this thread or another */
	int64_t to;
	uint32_t cq; /* object */
	char queue[LIFE_NAME], name[LIFE_NAME];
	uint64_t empty; /* polls; 0: not known yet */
	uint32_t
		/*
		 * number of requests of queue pair @qp in a row for which it waited, with this one
		 */
		waited;
	uint32_t qp;
};

struct unsignalled_waits {
	struct trace *trace;
	struct fact_list *facts;
	const struct activity *activity;
	struct unsignalled_wait *open; /* by thread: its last wait */
	size_t nopen;
	bool any;                         /* at least one such wait was found */
	struct unsignalled_wait *longest; /* by process */
	size_t nlongest;
};

struct unsignalled_waits *unsignalled_waits_new(struct trace *trace, struct fact_list *facts,
						const struct activity *activity)
{
	struct unsignalled_waits *unsignalled = calloc(1, sizeof(*unsignalled));

	if (unsignalled) {
		unsignalled->trace = trace;
		unsignalled->facts = facts;
		unsignalled->activity = activity;
	}
	return unsignalled;
}

void unsignalled_waits_free(struct unsignalled_waits *unsignalled)
{
	if (!unsignalled)
		return;
	free(unsignalled->open);
	free(unsignalled->longest);
	free(unsignalled);
}

/* Requests that @next of count_added(), a post to the same CQ, has added. */
struct added_requests {
	uint32_t requests, signalled;
};

static struct added_requests count_added(struct model *model, const struct trace_event *next,
					 const struct queue *queue)
{
	const struct life *qp = next->kind == TRACE_POST ? model_life(model, next->process,
								      OBJECT_qp, next->post->handle)
							 : NULL;
	const struct queue *sends = qp ? qp->sq : NULL;
	struct added_requests added = { 0 };

	for (uint32_t i = sends && sends->cq == queue->cq ? sends->count : 0; i-- > 0;) {
		const struct queue_request *request = queue_at(sends, i);

		if (request->thread != next->id.thread || request->n != next->id.n)
			break;
		added.requests += sends == queue;
		added.signalled += request->signalled;
	}
	return added;
}

/* Was the request an exception on its queue, or did the program wait for each request so far? */
static bool is_expected(const struct unsignalled_wait *before, const struct queue *queue,
			const struct added_requests *added)
{
	uint64_t posted = queue->posted - added->requests;
	uint64_t signalled = queue->stats.signalled - (added->requests ? added->signalled : 0);

	return posted - signalled <= posted / UNSIGNALLED_SHARE ||
	       (!signalled && (before->qp == queue->owner->id ? before->waited : 0) + 1 == posted);
}

/* Apart from @added, can no outstanding request complete on the CQ of @queue? */
static bool is_without_completion(const struct queue *queue, const struct added_requests *added)
{
	const struct queue_cq *cq = queue->cq;

	if (!cq || !cq->owner || cq->doubt || cq->pools || queue->doubt || queue->all_signalled ||
	    cq->signalled != added->signalled || qp_state(queue->owner) != ABI_QPS_RTS)
		return false;
	for (const struct life_link *link = cq->owner->children; link; link = link->next_child)
		if (link->child->qp && link->child->qp->srq)
			return false;
	return true;
}

/* @last: the last verb of the thread, after which all its polls until @next were empty. */
static __attribute__((noinline)) void examine_wait(struct unsignalled_waits *unsignalled,
						   struct model *model,
						   const struct last_verb *last,
						   const struct trace_event *next)
{
	const struct life *qp = last_verb_kind(last) == OBJECT_qp
					? model_life(model, last->process, OBJECT_qp, last->handle)
					: NULL;
	const struct queue *queue = qp && verb_is_send(last->verb) ? qp->sq : NULL;
	struct unsignalled_wait *open =
		vec_at(unsignalled->open, unsignalled->nopen, last->at.id.thread);
	const struct queue_request *request;
	struct added_requests added;

	if (!queue || !open)
		return;
	added = count_added(model, next, queue);
	if (queue->count <= added.requests || !is_without_completion(queue, &added))
		return;
	request = queue_at(queue, queue->count - added.requests - 1);
	if (request->done || request->signalled || request->n != last->at.id.n ||
	    request->thread != last->at.id.thread || !is_expected(open, queue, &added))
		return;
	unsignalled->any = true;
	open->waited = open->qp == qp->id ? open->waited + 1 : 1;
	open->qp = qp->id;
	open->from = last_verb_moment(last);
	open->next = next->id;
	open->to = next->time;
	open->cq = queue->cq->owner->id;
	open->empty = 0;
	snprintf(open->queue, sizeof(open->queue), "%s", qp->name);
	snprintf(open->name, sizeof(open->name), "%s", queue->cq->owner->name);
}

void unsignalled_waits_note_post(struct unsignalled_waits *unsignalled, struct model *model,
				 const struct trace_event *event)
{
	const struct last_verb *last = last_verb_of_thread(model, event->id.thread);

	if (last && event->time - last->returned >= PATIENCE_NS)
		examine_wait(unsignalled, model, last, event);
}

/* A queue pair that one thread has posted to may be destroyed by another. */
void unsignalled_waits_note_destroy(struct unsignalled_waits *unsignalled, struct model *model,
				    const struct trace_event *event)
{
	int64_t handle;
	const struct life *qp =
		args_get(event->call->args, ARG(qp), &handle)
			? model_life(model, event->process, OBJECT_qp, (uint64_t)handle)
			: NULL;
	const struct last_verb *last =
		qp && qp->sq ? last_verb_of_thread(model, qp->sq->poster) : NULL;

	if (last && last->process == event->process && event->time - last->returned >= PATIENCE_NS)
		examine_wait(unsignalled, model, last, event);
}

static void store_longest(struct unsignalled_waits *unsignalled, uint32_t process,
			  const struct unsignalled_wait *wait)
{
	struct unsignalled_wait *longest =
		vec_at(unsignalled->longest, unsignalled->nlongest, process);

	if (longest && wait->to - wait->from.time > longest->to - longest->from.time)
		*longest = *wait;
}

static __attribute__((noinline)) void examine_poll(struct unsignalled_waits *unsignalled,
						   const struct trace_event *event)
{
	struct unsignalled_wait *open =
		event->id.thread < unsignalled->nopen ? &unsignalled->open[event->id.thread] : NULL;
	uint64_t later;

	if (!open || !open->from.time || open->cq != event->poll->object)
		return;
	later = (uint64_t)(event->time - open->to) / FASTEST_NS;
	open->empty = event->poll->empty;
	if (open->empty >= later + MANY_POLLS ||
	    (open->empty >= SEEN_POLLS &&
	     activity_polls_at(unsignalled->activity, event->id.thread, open->to)))
		store_longest(unsignalled, event->process, open);
	open->from.time = 0;
}

void unsignalled_waits_note_poll(struct unsignalled_waits *unsignalled,
				 const struct trace_event *event)
{
	if (unsignalled->any)
		examine_poll(unsignalled, event);
}

static bool is_waited(const struct unsignalled_waits *unsignalled, uint32_t process)
{
	for (size_t i = 0; i < unsignalled->facts->n; i++)
		if (unsignalled->facts->all[i].kind == FACT_WAITED &&
		    unsignalled->facts->all[i].process == process)
			return true;
	return false;
}

static void add_fact(const struct unsignalled_waits *unsignalled, uint32_t process,
		     const struct unsignalled_wait *wait)
{
	struct fact *fact = fact_count(unsignalled->facts, FACT_WAITED,
				       fact_key(process, FACT_WAITED, 0), process);
	char name[LIFE_NAME + 64], lasted[32], id[32], next[32], n[WORDS_COUNT];

	if (!fact)
		return;
	fact->event = wait->from.id;
	fact->thread = wait->from.id.thread;
	fact->verb = wait->from.verb;
	fact->stack = wait->from.stack;
	fact->time = wait->from.time;
	fact->lasted = wait->to - wait->from.time;
	words_name_process(unsignalled->trace, process, name, sizeof(name));
	if (asprintf(&fact->what, "%s for %s, from %s to %s", name,
		     words_format_span(fact->lasted, lasted), event_id_text(wait->from.id, id),
		     event_id_text(wait->next, next)) < 0)
		fact->what = NULL;
	if (asprintf(&fact->because,
		     "the send of %s posted at %s was not signalled, and no other request could "
		     "complete on %s (sq_sig_all is 0; set IBV_SEND_SIGNALED); thread %u polled it "
		     "empty %s",
		     wait->queue, id, wait->name, thread_number(wait->from.id.thread),
		     words_format_count(wait->empty, "time", n)) < 0)
		fact->because = NULL;
}

/* At the end: the waits of threads that found no completion any more. */
static void finish_open_waits(struct unsignalled_waits *unsignalled)
{
	for (uint32_t thread = 1; thread < unsignalled->nopen; thread++) {
		struct unsignalled_wait *open = &unsignalled->open[thread];

		if (!open->from.time)
			continue;
		open->empty = activity_count_thread_empty(unsignalled->activity, thread, open->cq);
		if (open->empty >= MANY_POLLS)
			store_longest(unsignalled, open->from.process, open);
	}
}

/* A thread that polls other CQs, too, may have waited for their completions. */
static bool is_certain(const struct unsignalled_waits *unsignalled,
		       const struct unsignalled_wait *wait)
{
	return wait->from.time &&
	       activity_polls_only(unsignalled->activity, wait->from.id.thread, wait->cq);
}

void unsignalled_waits_finish(struct unsignalled_waits *unsignalled)
{
	finish_open_waits(unsignalled);
	for (uint32_t id = 1; id < unsignalled->nlongest; id++)
		if (is_certain(unsignalled, &unsignalled->longest[id]) &&
		    !is_waited(unsignalled, id))
			add_fact(unsignalled, id, &unsignalled->longest[id]);
}

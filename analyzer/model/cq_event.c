/*
 * Completions in a CQ while a thread waits for its event, or when their queue pair is destroyed
 *
 * 	the other end's send completes	arrived++ of the queue pair that has received it, also
 * 					for the unsignalled ones before
 * 	its receive is polled		taken++
 * 	arrived > taken			the difference is in its CQ
 */
#include "analyzer/model/cq_event.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"

enum {
	LONG_NS = 500000000, /* only a lost wake-up takes that long */
	LATE_NS = 5000000,
	PROMPT_NS = 1000000,
	SLEPT_NS = 100000,
	NEXT_EVENTS = 3, /* events that a thread may get between arming a CQ and polling it */
};

static struct moment moment_of_verb(const struct trace_event *event, enum verb verb)
{
	return (struct moment){ .id = event->id,
				.verb = verb,
				.process = event->process,
				.stack = event->kind == TRACE_CALL ? event->call->stack : 0,
				.time = event->time };
}

int cq_event_note_created(struct life *cq, bool channel)
{
	if (channel && !cq->wake)
		cq->wake = calloc(1, sizeof(*cq->wake));
	return channel && !cq->wake ? -ENOMEM : 0;
}

void cq_event_note_armed(struct life *cq, const struct trace_event *event)
{
	if (cq && cq->no_channel && !event->notify->ret)
		cq->deaf = moment_of_verb(event, VERB_req_notify_cq);
	if (!cq || !cq->wake || event->notify->ret)
		return;
	cq->wake->twice |= cq->wake->is_armed;
	cq->wake->solicited = event->notify->solicited_only;
	cq->wake->armed = moment_of_verb(event, VERB_req_notify_cq);
	cq->wake->is_armed = true;
	cq->wake->lain = cq->wake->lying && cq->wake->since <= event->time && !cq->wake->got;
	cq->wake->left.before = cq->wake->last <= event->time ? cq->wake->lying : 0;
	cq->wake->looked = false;
	cq->wake->may_complete = cq->cq && (cq->cq->signalled || !queues_expect_none(cq));
}

/* Was the wait before this poll one without a poll between the arming and the wait? */
static void check_blind_wait(struct cq_event_blind *blind, const struct cq_event *wake,
			     const struct trace_event *event)
{
	uint64_t empty = event->poll->empty;

	blind->open = false;
	if (event->id.thread != wake->armed.id.thread || empty > 1) {
		blind->checked++;
		return;
	}
	if (!blind->none && !blind->one)
		blind->armed = wake->armed;
	if (empty)
		blind->one++;
	else
		blind->none++;
}

/* Was the CQ not polled between the wait and this poll, so that it had not been emptied? */
static void check_left(struct cq_event *wake, const struct trace_event *event)
{
	struct cq_event_left *left = &wake->left;

	left->drained += left->led && !wake->got;
	left->led = wake->got;
	if (left->asleep && !event->poll->empty && event->id.thread == wake->armed.id.thread) {
		left->times++;
		if (left->asleep > left->longest) {
			left->longest = left->asleep;
			left->filled = wake->filled;
		}
	}
	left->asleep = 0;
}

static void note_poll(const struct life *cq, const struct trace_event *event)
{
	const struct moment *polled = &cq->wake->polled;
	struct cq_event_blind *blind = &cq->wake->blind;
	uint32_t most = cq->cq ? cq->cq->stats.most : 0;

	if (blind->open)
		check_blind_wait(blind, cq->wake, event);
	else if (!cq->wake->got && !cq->wake->is_armed && polled->verb == VERB_poll_cq &&
		 event->poll->verb == VERB_poll_cq && polled->id.thread == event->id.thread &&
		 polled->time > cq->wake->armed.time && !event->poll->empty &&
		 (blind->last_nwc < most || most == 1))
		blind->loops = true;
	blind->last_nwc = event->poll->nwc;
}

void cq_event_note_polled(struct life *cq, const struct trace_event *event)
{
	if (!cq || !cq->wake)
		return;
	note_poll(cq, event);
	check_left(cq->wake, event);
	cq->wake->polled = moment_of_verb(event, event->poll->verb);
	cq->wake->filled = event->poll->filled ? event->poll->nwc : 0;
	cq->wake->got = false;
	cq->wake->due = (struct moment){ 0 };
	cq->wake->since = event->time;
}

static struct life *note_poll_of_cq(struct model *model, const struct life *qp)
{
	return model_find(model, qp->process, OBJECT_cq, qp->qp ? qp->qp->recv_cq : 0);
}

static struct cq_event *cq_event_of(struct model *model, const struct life *qp)
{
	struct life *cq = note_poll_of_cq(model, qp);

	return cq && cq->state == LIFE_LIVE && !cq->inherited ? cq->wake : NULL;
}

static bool is_received(const struct queue_request *request)
{
	return queue_takes_receive(request->opcode);
}

/* A send of @qp is done: its receive is in the CQ of the other end. */
static void note_arrival(struct model *model, const struct trace_event *event, struct life *qp,
			 const struct queue_request *send)
{
	struct peer *other = peer_find_other(&model->peers, qp->peer);
	struct life *there = other ? other->life : NULL;
	struct cq_event *wake;
	int64_t slack;

	if (!there || there->state != LIFE_LIVE || there->unwatched || !there->rq ||
	    there->rq->doubt)
		return;
	if (there->arrived++ < there->taken)
		return;
	slack = peer_slack(&model->peers, qp->process, there->process);
	there->arrival = event->time + slack;
	wake = model->wakes ? cq_event_of(model, there) : NULL;
	if (!wake)
		return;
	wake->last = there->arrival;
	wake->asked = !!(send->flags & ABI_SEND_SOLICITED) + (wake->lying ? wake->asked : 0);
	if (!wake->lying++) {
		wake->since = there->arrival;
		wake->sent = send->time - slack;
	}
}

/*
 * Note the arrival of @request, and of the requests before it that have no completion of their own.
 */
static void note_arrivals(struct model *model, const struct trace_event *event, struct life *qp,
			  const struct queue_request *request)
{
	const struct queue *sends = qp->sq;
	const struct queue_request *one;

	for (uint32_t i = 0; sends && i < sends->count; i++) {
		one = queue_at(sends, i);
		if (is_received(one) && (one == request || (!one->done && !one->signalled)))
			note_arrival(model, event, qp, one);
		if (one == request)
			break;
	}
}

static void note_first_late(struct cq_event *wake)
{
	if (wake->late.events || wake->late.times || wake->late.instead)
		return;
	wake->late.armed = wake->armed;
	wake->late.solicited = !wake->lain;
}

const struct life *cq_event_find_other(const struct life *cq)
{
	const struct life_link *link = cq->parents;
	const struct life *found = NULL;

	while (link && link->parent->kind != OBJECT_comp_channel)
		link = link->next_parent;
	for (link = link ? link->parent->children : NULL; link; link = link->next_child)
		if (link->child != cq && link->child->kind == OBJECT_cq && link->child->wake &&
		    link->child->wake->is_armed)
			found = link->child;
	return found;
}

static void note_late(struct cq_event *wake, int64_t time)
{
	struct cq_event_late *late = &wake->late;

	note_first_late(wake);
	if (!late->times++ || time < late->shortest)
		late->shortest = time;
	if (time > late->longest)
		late->longest = time;
}

/*
 * The first completion since the CQ was armed is polled, and gives no event: note if the poll is
 * late. A thread other than the one that armed the CQ, or one that called other verbs meanwhile,
 * may not have waited.
 */
static void check_late_poll(struct cq_event *wake, const struct trace_event *event)
{
	const struct moment *armed = &wake->armed;
	bool mute = wake->lain || (wake->solicited && !wake->asked);
	int64_t from = wake->since > armed->time ? wake->since : armed->time;

	if (!mute || !wake->is_armed || wake->looked || from > event->time)
		return;
	wake->looked = true;
	if (event->id.thread != armed->id.thread || event->id.n - armed->id.n > NEXT_EVENTS)
		return;
	if (event->time - from >= LATE_NS)
		note_late(wake, event->time - from);
	else
		wake->late.prompt += event->time - from <= PROMPT_NS;
}

/*
 * Note if the poll of @cq is late: it was never armed, and the thread has armed another CQ of its
 * channel.
 */
static void check_wrong_armed(const struct life *cq, const struct trace_event *event)
{
	const struct life *other = cq_event_find_other(cq);
	const struct moment *armed = other ? &other->wake->armed : NULL;
	struct cq_event *wake = cq->wake;
	int64_t from;

	if (!other || armed->id.thread != event->id.thread ||
	    event->id.n - armed->id.n > NEXT_EVENTS ||
	    (wake->passed.thread == event->id.thread && wake->passed.n == event->id.n))
		return;
	wake->passed = event->id;
	from = wake->since > armed->time ? wake->since : armed->time;
	if (event->time - from >= LATE_NS) {
		if (!wake->late.times)
			wake->late = (struct cq_event_late){ .prompt = wake->late.prompt,
							     .armed = *armed,
							     .instead = other->id };
		note_late(wake, event->time - from);
	} else {
		wake->late.prompt += event->time - from <= PROMPT_NS;
	}
}

void cq_event_note_completion(struct model *model, const struct trace_event *event,
			      const struct wc *wc, struct life *qp,
			      const struct queue_request *request)
{
	struct cq_event *wake;

	if (!qp || wc->status != ABI_WC_SUCCESS || !qp->qp || qp->qp->type != ABI_QPT_RC)
		return;
	if (!(wc->opcode & ABI_WC_RECV)) {
		if (request)
			note_arrivals(model, event, qp, request);
		return;
	}
	if (qp->taken++ >= qp->arrived || !model->wakes)
		return;
	wake = cq_event_of(model, qp);
	if (!wake || !wake->lying)
		return;
	if (wake->armed.id.thread)
		check_late_poll(wake, event);
	else
		check_wrong_armed(note_poll_of_cq(model, qp), event);
	wake->lying--;
	wake->left.before -= wake->left.before > 0;
}

bool cq_event_has_unread(const struct life *qp, int64_t now)
{
	return qp->arrived > qp->taken && !qp->unwatched && qp->arrival <= now && qp->rq &&
	       !qp->rq->doubt && qp_state(qp) != ABI_QPS_ERR;
}

void cq_event_reset(struct model *model, struct life *qp)
{
	struct cq_event *wake = qp->arrived > qp->taken ? cq_event_of(model, qp) : NULL;
	uint64_t lying = qp->arrived - qp->taken;

	if (wake) {
		wake->lying -= wake->lying < lying ? wake->lying : lying;
		wake->left.before = 0;
	}
	qp->arrived = qp->taken = 0;
	qp->unwatched = true; /* sends posted before may complete later */
}

int cq_event_begin_wait(struct model *model, const struct trace_event *event, uint64_t channel)
{
	struct event_wait *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return -ENOMEM;
	waiting->at = moment_of_verb(event, event->call->verb);
	waiting->channel = channel;
	waiting->next = model->waiting;
	model->waiting = waiting;
	return 0;
}

/*
 * Did a thread wait for @cq in vain? A completion that was in the CQ when it was armed gives no
 * event. If the CQ's event came nevertheless, a further completion has arrived: then there are at
 * least two. If an event ended the call, it may just have been delayed on a busy machine while the
 * completions arrived; but not if the first one arrived about when the CQ was armed.
 */
static void check_missed_event(struct model *model, const struct event_wait *waiting,
			       const struct life *cq, const struct life *got, int64_t time)
{
	const struct cq_event *wake = cq->wake;
	struct model_wait wait = { .cq = cq, .wake = wake, .at = waiting->at, .to = time };

	if (!wake || !wake->is_armed || wake->lying < (cq == got ? 2 : 1) ||
	    wake->armed.time > time || (wake->solicited && wake->asked) ||
	    (got && wake->since > wake->armed.time + LATE_NS))
		return;
	wait.from = waiting->at.time > wake->since ? waiting->at.time : wake->since;
	if (wake->armed.time > wait.from)
		wait.from = wake->armed.time;
	if (time - wait.from >= LONG_NS)
		model->watcher.wait(model->watcher.arg, &wait);
}

/* Report a wait while completions are in @cq, which was not armed since its last event. */
static void check_unarmed(struct model *model, const struct event_wait *waiting,
			  const struct life *cq, int64_t time)
{
	const struct cq_event *wake = cq->wake;
	struct model_wait wait = { .cq = cq, .wake = wake, .at = waiting->at, .to = time };

	if (!wake || !wake->lying || !wake->armed.id.thread)
		return;
	wait.from = waiting->at.time > wake->since ? waiting->at.time : wake->since;
	if (time - wait.from >= LONG_NS)
		model->watcher.wait(model->watcher.arg, &wait);
}

/* Is a CQ of the channel armed, so that an event can come? */
static bool has_armed_cq(const struct life *channel)
{
	for (const struct life_link *link = channel->children; link; link = link->next_child)
		if (link->child->wake && link->child->wake->is_armed)
			return true;
	return false;
}

static bool is_cq(const struct life *life)
{
	return life->kind == OBJECT_cq && life->state == LIFE_LIVE;
}

static void check_channel(struct model *model, const struct event_wait *waiting,
			  const struct life *channel, const struct life *got, int64_t time)
{
	bool stuck = !got && !has_armed_cq(channel);

	for (const struct life_link *link = channel->children; link; link = link->next_child) {
		if (is_cq(link->child) && stuck)
			check_unarmed(model, waiting, link->child, time);
		else if (is_cq(link->child))
			check_missed_event(model, waiting, link->child, got, time);
	}
}

static void end_waiting(struct model *model, struct event_wait *waiting, const struct life *got,
			int64_t time)
{
	struct life *channel =
		model_find(model, waiting->at.process, OBJECT_comp_channel, waiting->channel);

	if (channel && channel->state == LIFE_LIVE && !channel->inherited && !model->doubt)
		check_channel(model, waiting, channel, got, time);
	free(waiting);
}

/* Did a non-blocking channel have no event? However long such a call took, it did not wait. */
static bool is_refused(const struct trace_event *event)
{
	return event->call->failed && event->call->error == EAGAIN;
}

/*
 * The event of @cq was retrieved. If nothing could complete when the CQ was armed, or if the thread
 * called another verb since, such as a post, it may know that the CQ was empty then.
 */
static void note_wait(const struct life *cq, const struct trace_event *event)
{
	const struct moment *armed = &cq->wake->armed;
	struct cq_event_blind *blind = &cq->wake->blind;

	if (!cq->wake->is_armed || !cq->wake->polled.id.thread || !cq->wake->may_complete ||
	    cq->wake->solicited || armed->id.thread != event->id.thread)
		return;
	if (cq->wake->polled.time > armed->time)
		blind->checked++;
	else
		blind->open = event->id.n == armed->id.n + 1;
}

/* Did the thread leave completions in the CQ after its poll, and then sleep? */
static void note_left(struct cq_event *wake, const struct trace_event *event)
{
	struct cq_event_left *left = &wake->left;
	const uint32_t thread = event->id.thread;

	if (!left->before || !wake->is_armed || wake->armed.id.thread != thread ||
	    wake->polled.id.thread != thread || wake->polled.time <= wake->armed.time ||
	    event->time - wake->polled.time < SLEPT_NS)
		return;
	left->asleep = event->time - wake->polled.time;
	if (!left->times)
		left->armed = wake->armed;
}

/*
 * The event of a CQ that was not polled since it was armed: a completion is in the CQ. If it was
 * ever armed twice, the event may be of a completion that was polled before.
 */
static void note_due(struct cq_event *wake, const struct trace_event *event)
{
	if (wake->is_armed && !wake->twice && !wake->due.id.thread &&
	    wake->polled.time <= wake->armed.time)
		wake->due = moment_of(event);
}

void cq_event_end_wait(struct model *model, const struct trace_event *event, struct life *cq)
{
	struct event_wait **at = &model->waiting, *waiting;

	while ((waiting = *at) &&
	       (waiting->at.id.thread != event->id.thread || waiting->at.id.n != event->id.n))
		at = &waiting->next;
	if (waiting)
		*at = waiting->next;
	if (is_refused(event))
		free(waiting);
	else if (waiting)
		end_waiting(model, waiting, cq, event->time);
	if (!cq || !cq->wake)
		return;
	note_wait(cq, event);
	note_left(cq->wake, event);
	note_due(cq->wake, event);
	if (cq->wake->is_armed && cq->wake->lain && !cq->wake->looked &&
	    event->id.thread == cq->wake->armed.id.thread) {
		note_first_late(cq->wake);
		cq->wake->late.events++;
	}
	cq->wake->is_armed = false;
	cq->wake->got = true;
}

/* Since when a signal or a debugger has stopped the thread; INT64_MAX: it was not, or not known. */
static int64_t find_stop(struct trace *trace, const struct moment *at)
{
	size_t part = trace_part_of(trace, at->process);
	uint32_t thread = trace_part_event(trace, at->id).thread;
	int64_t since = lookup_stopped_since(trace_part(trace, part), thread);
	struct trace_clock clock;

	if (since == INT64_MAX || trace_nparts(trace) < 2)
		return since;
	clock = trace_clock(trace, part);
	return trace_clock_time(&clock, since);
}

/*
 * A thread that is cancelled in its call waits no longer, though its process ends later. One that
 * is stopped does not retrieve an event that has come.
 */
static int64_t end_of_wait(struct model *model, const struct event_wait *waiting,
			   int64_t process_end)
{
	int64_t end = model_end_of_thread(model, &waiting->at);
	int64_t stop = model->trace ? find_stop(model->trace, &waiting->at) : INT64_MAX;

	if (end == INT64_MIN || end > process_end)
		end = process_end;
	return stop < end ? stop : end;
}

void cq_event_end_process(struct model *model, uint32_t process, int64_t time)
{
	struct event_wait **at = &model->waiting, *waiting;

	while ((waiting = *at)) {
		if (process && waiting->at.process != process) {
			at = &waiting->next;
			continue;
		}
		*at = waiting->next;
		if (process)
			end_waiting(model, waiting, NULL, end_of_wait(model, waiting, time));
		else
			free(waiting);
	}
}

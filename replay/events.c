/*
 * Completion events and asynchronous events
 *
 * A recorded event is waited for at the time when the recorded call returned. Events of one channel
 * may come in another order: those that come early are stored. If the completion that an event
 * announced came in the replay before the queue was armed, no event comes, and none is needed; nor
 * does one come if no queue pair of the queue is replayed.
 *
 * Events are acknowledged as recorded, but never more than came in the replay; the rest is
 * acknowledged before a destroy, which would otherwise block forever.
 */
#include "replay/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/event_object.h"
#include "replay/report/differ.h"
#include "replay/data/expect.h"
#include "replay/data/faults.h"
#include "replay/report/pace.h"
#include "replay/data/polls.h"
#include "replay/process/process.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"

static const char merged[] = "a completion event for a completion that came before the queue was "
			     "armed";
static const char before_cut[] = "an event from before the start of the trace";
static const char at_cut[] = "a completion event in flight at the start of the trace";
static const char no_event[] = "a request for an event that returned without one";

#define SILENT_AFTER 2000000  /* ns until a completion is accepted instead of its event */
#define BACKLOG_NS   50000    /* ns: a recorded call that got an event faster did not wait for it */
#define CUT_SHARE    50000000 /* longest wait if a queue pair is not replayed */
/* ns: how long to wait for an event that no verb causes, but that may still arrive */
#define OUTSIDE_NS 200000000

/* The numeric result @arg of a call. */
static uint64_t find_result(const struct call *call, enum arg arg)
{
	return args_number(call->out, arg);
}

static uint64_t find_argument(const struct call *call, enum arg arg)
{
	return args_number(call->args, arg);
}

static struct replica *find_object(struct replay *r, const struct trace_event *event,
				   enum object_kind kind, uint64_t handle, uint32_t *ret_id)
{
	const struct object *o =
		trace_object_at(r->trace, event->process, kind, handle, event->time);

	*ret_id = o ? o->id : 0;
	return o ? replica_of(r, o->id) : NULL;
}

static int skip_event(struct replay *r, const struct trace_event *event,
		      const struct replica *replica, const char *why)
{
	outcome_note_skipped(r->outcome, event->id, event->call->verb,
			     replica ? (uint32_t)(replica - r->replicas) : 0,
			     replica && replica->why ? replica->why : why);
	return 0;
}

static void fetch_cq_event(struct replay *r, struct ibv_comp_channel *channel)
{
	struct replica *replica;
	struct ibv_cq *cq;
	void *context;
	uint64_t id;

	if (process_get_cq_event(channel, &cq, &context))
		return;
	if (!map_get(&r->handles, (uintptr_t)cq, &id))
		return;
	replica = replica_as(r, (uint32_t)id, OBJECT_cq);
	if (!replica)
		return;
	replica->events++;
	replica->unacked++;
}

static void drop_oldest_armings(struct arming *a, unsigned int n)
{
	a->n -= n;
	a->before -= a->before < n ? a->before : n;
	memmove(a->asked, a->asked + n, a->n * sizeof(*a->asked));
}

void events_note_armed(struct replica *cq)
{
	if (cq->arming.n == ARMINGS_MAX)
		drop_oldest_armings(&cq->arming, 1);
	cq->arming.asked[cq->arming.n++] = cq->asked;
}

/*
 * If other events were waiting to be read, this event belongs to the oldest arming. If the recorded
 * call had to wait, no event was waiting: then drop the armings before the last event, except for
 * the newest of them, to which this event may belong.
 */
static void begin_arming(struct replica *cq, const struct call *call)
{
	struct arming *a = &cq->arming;

	if (call->end - call->begin > BACKLOG_NS && a->before > 1)
		drop_oldest_armings(a, a->before - 1);
}

static void end_arming(struct replica *cq)
{
	if (cq->arming.n)
		drop_oldest_armings(&cq->arming, 1);
	cq->arming.before = cq->arming.n;
}

/*
 * The completion that the event announced came in the replay before the queue was armed: some
 * completions had come that the recorded program had not polled by then.
 */
static bool has_come_before_arming(struct replay *r, struct replica *cq)
{
	if (cq->fresh || polls_take(r, cq, 1) > 0)
		return true;
	return cq->arming.n && cq->asked > cq->arming.asked[0];
}

/* The replayed queue pairs that complete on a CQ, or receive from an SRQ. */
struct users {
	unsigned int driven;
	const char *cut; /* why one of the users is not replayed; NULL: all are replayed */
};

static struct users find_users(const struct replay *r, const void *queue)
{
	struct users u = { 0 };

	for (uint32_t i = 0; i < r->nmade; i++) {
		const struct replica *replica = &r->replicas[r->made[i]];
		const struct ibv_qp *qp = replica->qp ? replica->handle : NULL;
		/* receives of XRC complete on the CQ of their SRQ, which is not known */
		bool uses =
			qp && (qp->send_cq == queue || qp->recv_cq == queue || qp->srq == queue ||
			       (!qp->recv_cq && qp->qp_type == IBV_QPT_XRC_RECV));

		if (uses && replica->qp->cut)
			u.cut = replica->qp->cut;
		else if (uses)
			u.driven++;
	}
	if (!u.driven && !u.cut)
		u.cut = "no queue pair of the replay uses its queue";
	return u;
}

/* Wait less if earlier events were missing. */
static int64_t wait_time(const struct replay *r, const struct replica *replica)
{
	return r->options->timeout >> (replica->silent < 10 ? replica->silent : 10);
}

static void report_no_cq_event(struct replay *r, const struct trace_event *event,
			       struct replica *cq, const struct users *users)
{
	if (users->cut) {
		outcome_note_skipped(r->outcome, event->id, event->call->verb,
				     (uint32_t)(cq - r->replicas), users->cut);
		return;
	}
	cq->silent++;
	differ_report_no_event(r->outcome, event->id, event->call->verb,
			       (uint32_t)(cq - r->replicas), "cq", "an event");
}

/* Returns whether the event came, or need not come. Other threads may destroy the objects. */
static bool await_cq_event(struct replay *r, const struct replica *channel, struct replica *cq,
			   struct users *ret_users)
{
	int64_t start = pace_now(), wait = wait_time(r, cq);
	unsigned int turns = 0;

	while (!cq->events) {
		if (!channel->handle || !cq->handle)
			return false;
		if (process_has_cq_event(channel->handle)) {
			fetch_cq_event(r, channel->handle);
			continue;
		}
		if (pace_now() - start > SILENT_AFTER && has_come_before_arming(r, cq)) {
			outcome_note_tolerated(r->outcome, merged);
			return true;
		}
		/* the completion that it announces may have been polled before the cut */
		if (pace_now() - start > SILENT_AFTER && cq->armed <= r->cut) {
			outcome_note_tolerated(r->outcome, at_cut);
			return true;
		}
		if (pace_now() - start > SILENT_AFTER && !ret_users->driven && !ret_users->cut) {
			*ret_users = find_users(r, cq->handle);
			if (ret_users->cut)
				wait = ret_users->driven ? CUT_SHARE : 0;
		}
		if (!pace_wait(&turns, start + wait) && pace_now() - start > SILENT_AFTER)
			return false;
	}
	cq->events--;
	return true;
}

/* Compare the queue's cq_context, whose value is the recorded one. */
static void compare_context(struct replay *r, const struct trace_event *event,
			    const struct replica *cq)
{
	uint64_t there = find_result(event->call, ARG(cq_context)), here;

	if (!cq->handle)
		return;
	here = (uintptr_t)((struct ibv_cq *)cq->handle)->cq_context;
	if (here != there)
		differ_check_numbers(r->outcome, event->id, event->call->verb,
				     (uint32_t)(cq - r->replicas), "cq_context", (int64_t)there,
				     (int64_t)here);
}

static void wait_cq_event(struct replay *r, const struct trace_event *event,
			  const struct replica *channel, struct replica *cq)
{
	struct users users = { 0 };

	begin_arming(cq, event->call);
	if (!await_cq_event(r, channel, cq, &users))
		report_no_cq_event(r, event, cq, &users);
	else
		compare_context(r, event, cq);
	end_arming(cq);
}

int events_get_cq(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct replica *channel, *cq;
	uint32_t id;

	if (call->failed || event->time <= r->cut) {
		outcome_note_tolerated(r->outcome, call->failed ? no_event : before_cut);
		return 0;
	}
	channel =
		find_object(r, event, OBJECT_comp_channel, find_argument(call, ARG(channel)), &id);
	cq = find_object(r, event, OBJECT_cq, find_result(call, ARG(cq)), &id);
	if (!channel || !channel->handle)
		return skip_event(r, event, channel,
				  "its completion channel does not exist in "
				  "the replay");
	if (!cq || !cq->handle)
		return skip_event(r, event, cq,
				  "its completion queue does not exist in the "
				  "replay");
	if (r->no_posts || r->no_arming)
		return skip_event(r, event, NULL, r->no_posts ? r->no_posts : r->no_arming);
	outcome_count_call(r->outcome, call->verb);
	outcome_count(r->outcome, OUTCOME_EVENTS, 1);
	wait_cq_event(r, event, channel, cq);
	return 0;
}

int events_ack_cq(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	uint32_t id;
	struct replica *cq = find_object(r, event, OBJECT_cq, find_argument(call, ARG(cq)), &id);
	unsigned int n = (unsigned int)find_argument(call, ARG(nevents));

	if (!cq || !cq->handle)
		return skip_event(r, event, cq,
				  "its completion queue does not exist in the "
				  "replay");
	outcome_count_call(r->outcome, call->verb);
	n = n < cq->unacked ? n : cq->unacked;
	if (n)
		process_ack_cq_events(cq->handle, n);
	cq->unacked -= n;
	return 0;
}

static int fetch_async_event(struct replay *r, uint32_t context)
{
	struct async *async = calloc(1, sizeof(*async));

	if (!async)
		return -ENOMEM;
	if (process_get_async_event(replica_of(r, context)->handle, &async->event)) {
		free(async);
		return 0;
	}
	async->context = context;
	async->next = r->asyncs;
	r->asyncs = async;
	return 0;
}

/* A stored event of @type and @element: already read by a recorded call (@taken), or not. */
static struct async **find_async(struct replay *r, uint32_t context, enum ibv_event_type type,
				 const void *element, bool taken)
{
	struct async **at = &r->asyncs;

	for (; *at; at = &(*at)->next) {
		const struct async *a = *at;

		if (a->taken != taken || a->event.event_type != type)
			continue;
		if (context && a->context != context)
			continue;
		if (event_object(type) == OBJECT_device || a->event.element.qp == element)
			break;
	}
	return at;
}

/* The replayed object of event @type of a call; NULL: the device, or it is not known. */
static const struct replica *replayed_element(struct replay *r, const struct trace_event *event,
					      enum ibv_event_type type, uint64_t element)
{
	enum object_kind kind = event_object(type);
	uint32_t id;

	return kind == OBJECT_device ? NULL : find_object(r, event, kind, element, &id);
}

/* The object at that address in the replay; 0 if there is none. */
static uint32_t object_at(const struct replay *r, const void *handle)
{
	uint64_t id;

	return handle && map_get(&r->handles, (uintptr_t)handle, &id) ? (uint32_t)id : 0;
}

/* Report that the event did not come; a post that the trace lacks may have caused it. */
static void report_no_async(struct replay *r, const struct trace_event *event,
			    struct replica *context, enum ibv_event_type type, const void *element)
{
	if (r->no_posts && event_object(type) != OBJECT_device) {
		skip_event(r, event, NULL, r->no_posts);
		return;
	}
	if (event_object(type) == OBJECT_srq && !find_users(r, element).driven) {
		skip_event(r, event, replica_of(r, object_at(r, element)),
			   find_users(r, element).cut);
		return;
	}
	if (event_object(type) != OBJECT_device)
		context->silent++;
	differ_report_no_event(r->outcome, event->id, event->call->verb, object_at(r, element),
			       "event.event_type", ibv_event_type_str(type));
}

/* The recorded event, as it should come in the replay. */
static struct ibv_async_event replayed_async(const struct call *call, enum ibv_event_type type,
					     const void *element)
{
	struct ibv_async_event async = { .event_type = type };

	if (event_object(type) == OBJECT_device)
		async.element.port_num = (int)find_result(call, ARG(event.element));
	else
		async.element.qp = (struct ibv_qp *)element;
	return async;
}

/* Compare the port of an event: another device may have fewer ports. */
static void compare_port(struct replay *r, const struct trace_event *event, uint32_t context,
			 const struct ibv_async_event *here)
{
	uint64_t there = find_result(event->call, ARG(event.port_num));

	if (event_object(here->event_type) != OBJECT_device ||
	    here->event_type == IBV_EVENT_DEVICE_FATAL || outcome_is_other_device(r->outcome))
		return;
	if (there != (uint64_t)here->element.port_num)
		differ_check_numbers(r->outcome, event->id, event->call->verb, context,
				     "event.port_num", (int64_t)there, here->element.port_num);
}

/* @about: the object of the event, NULL: the device. Another thread may destroy it meanwhile. */
static int wait_async(struct replay *r, const struct trace_event *event, uint32_t context,
		      enum ibv_event_type type, const struct replica *about)
{
	struct replica *replica = replica_of(r, context);
	int64_t start = pace_now(), limit = r->no_posts ? CUT_SHARE : wait_time(r, replica);
	bool outside = event_object(type) == OBJECT_device, raised = false;
	const void *element = about ? about->handle : NULL;
	struct ibv_async_event async;
	unsigned int turns = 0;
	struct async **found;

	if (outside && limit > OUTSIDE_NS)
		limit = OUTSIDE_NS;

	while (!*(found = find_async(r, context, type, element, false))) {
		struct ibv_context *here = replica->handle;
		bool gone = !here || (about && !about->handle);

		if (!gone && process_has_async_event(here)) {
			if (fetch_async_event(r, context))
				return -ENOMEM;
			continue;
		}
		async = replayed_async(event->call, type, element);
		if (!gone && !raised &&
		    faults_raise(r, here, &async, outside, pace_now() - start, limit)) {
			raised = true;
		} else if (gone || !pace_wait(&turns, start + limit)) {
			report_no_async(r, event, replica, type, element);
			return 0;
		}
	}
	(*found)->taken = true;
	compare_port(r, event, context, &(*found)->event);
	return 0;
}

int events_get_async(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum ibv_event_type type = (enum ibv_event_type)find_result(call, ARG(event.event_type));
	const struct replica *about;
	struct replica *context;
	uint32_t id;

	if (call->failed || event->time <= r->cut) {
		outcome_note_tolerated(r->outcome, call->failed ? no_event : before_cut);
		return 0;
	}
	about = replayed_element(r, event, type, find_result(call, ARG(event.element)));
	context = find_object(r, event, OBJECT_context, find_argument(call, ARG(context)), &id);
	if (!context || !context->handle)
		return skip_event(r, event, context, "its context does not exist in the replay");
	if ((!about || !about->handle) && event_object(type) != OBJECT_device)
		return skip_event(r, event, about, "its object does not exist in the replay");
	outcome_count_call(r->outcome, call->verb);
	outcome_count(r->outcome, OUTCOME_EVENTS, 1);
	return wait_async(r, event, id, type, about);
}

static void ack_async(struct async **at)
{
	struct async *async = *at;

	*at = async->next;
	process_ack_async_event(&async->event);
	free(async);
}

int events_ack_async(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum ibv_event_type type = (enum ibv_event_type)find_argument(call, ARG(event.event_type));
	const struct replica *about =
		replayed_element(r, event, type, find_argument(call, ARG(event.element)));
	struct async **at = find_async(r, 0, type, about ? about->handle : NULL, true);

	outcome_count_call(r->outcome, call->verb);
	if (*at)
		ack_async(at);
	return 0;
}

void events_before_destroy(struct replay *r, uint32_t object)
{
	struct replica *replica = replica_of(r, object);
	struct async **at = &r->asyncs;

	if (!replica || !replica->handle)
		return;
	expect_leave(r, object);
	if (!replica->handle) /* another thread destroyed it during the wait */
		return;
	if (replica->unacked)
		process_ack_cq_events(replica->handle, replica->unacked);
	replica->unacked = 0;
	while (*at) {
		if (event_object((*at)->event.event_type) != OBJECT_device &&
		    (void *)(*at)->event.element.qp == replica->handle)
			ack_async(at);
		else
			at = &(*at)->next;
	}
}

void events_drop_closed(struct replay *r, uint32_t object)
{
	struct async **at = &r->asyncs;

	while (*at) {
		struct async *async = *at;

		if (async->context == object) {
			*at = async->next;
			free(async);
		} else {
			at = &async->next;
		}
	}
}

void events_fini(struct replay *r)
{
	while (r->asyncs) {
		struct async *async = r->asyncs;

		r->asyncs = async->next;
		free(async);
	}
}

/*
 * Injecting recorded errors that the traffic alone does not cause
 *
 * Retries exceeded on a real network, a local error of an adapter, a port that went down, memory
 * that a creation lacked: no event in the trace causes these errors. On a device without errors of
 * its own they would not occur, and the program would not react to them. The software device
 * can inject them at a request, a call or immediately; on other devices the recorder's library does
 * (replay/device/fault_maker.h).
 *
 * Errors that the replayed calls cause by themselves (a wrong key, a missing receive, a destroyed
 * peer) must not be injected as well, so the status alone decides nothing:
 *
 *	a request	the device makes all its checks, and forces the status only on a request
 *			that would succeed, or wait and then end in another status
 *	a creation	is called; if it succeeds, it is undone, and called again to fail
 *	ibv_modify_qp	is checked by the device first, as a request is
 *	other calls	fail for lack of a resource (ENOMEM, EIO); EINVAL occurs by itself
 *	a post		ENOMEM only if the replay's queue has free entries
 *	an event	of a port or device at once, others if they do not come
 *	a queue pair	that was flushed without a cause fails at the first poll with a flush,
 *			unless it has failed by itself, or its peer had an error
 *
 * The recorder's library cannot check first whether a request would succeed: in its place it posts
 * a request that fails (docs/FAULTS.md), and the peer notices nothing. So failures that would occur
 * by themselves are injected, too, and so is the failure of the peer. The library does not change
 * the state of a port: the replay gets the event, and queries return the recorded state.
 *
 * Faults that the recorder injected are known exactly (recorded_fault.h). A verb that the recorder
 * made fail was not called, and is not called in the replay.
 *
 * If an injected error has consequences that were not recorded, it is the divergence.
 *
 * Not here: which errors the trace has (faults_learn.c).
 */
#include "replay/data/faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/data/faults_priv.h"
#include "replay/device/dispatch.h"
#include "replay/report/pace.h"
#include "replay/process/process.h"
#include "replay/state/recorded_fault.h"
#include "replay/state/state.h"

#define OWN_FAILURE_NS 50000000 /* how long to wait until a queue pair fails by itself */

/* part of --timeout: how long to wait for events that the traffic causes */
enum { OWN_EVENT_SHARE = 4 };

int faults_new(struct replay *r)
{
	struct fault_plan *plan;

	if (r->options->faults == FAULTS_NONE)
		return 0;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return log_err(-ENOMEM, "prepare the replay");
	if (fault_maker_find(&plan->maker)) {
		r->faults = plan;
		return faults_learn(r, plan);
	}
	free(plan);
	if (r->options->faults == FAULTS_DEFAULT)
		return 0;
	log_note("replay: --faults recorded: neither the software device nor libverbatim.so is "
		 "loaded to inject faults");
	return -EOPNOTSUPP;
}

void faults_free(struct replay *r)
{
	if (!r->faults)
		return;
	map_fini(&r->faults->forced);
	map_fini(&r->faults->sudden);
	map_fini(&r->faults->shown_of);
	recorded_faults_free(r);
	free(r->faults->shown);
	free(r->faults->erred);
	free(r->faults);
	r->faults = NULL;
}

/* "RETRY_EXC_ERR" */
static const char *status_name(int status)
{
	const char *name = enum_name(enum_find("ibv_wc_status"), status);

	return name && !strncmp(name, "IBV_WC_", 7) ? name + 7 : NULL;
}

static void force_status(struct fault_plan *plan, const struct ibv_qp *qp, bool send,
			 uint64_t packed)
{
	const char *name = status_name((int)(packed >> 8 & 0xff));
	char rule[128];

	if (!name)
		return;
	snprintf(rule, sizeof(rule), "qp=%u n=%u status=%s vendor_err=%u%s", qp->qp_num,
		 (unsigned int)(packed >> 32) + 1, name, (unsigned int)(packed & 0xff),
		 send ? "" : " opcode=RECV");
	process_fault(plan->maker.fault,
		      /* a status that the device does not know is reported as a difference */
		      rule);
}

static void fail_call(struct fault_plan *plan, int error)
{
	const char *name = strerrorname_np(error);
	char rule[64];

	if (!name)
		return;
	snprintf(rule, sizeof(rule), "verb=any errno=%s", name);
	process_fault(plan->maker.fault, rule);
}

/* Is the error due to a missing resource, not to the call's arguments? */
static bool is_resource_error(int error)
{
	switch (error) {
	case ENOMEM:
	case EIO:
	case EAGAIN:
	case EINTR:
	case ENODEV:
	case ENXIO:
	case ENOSPC:
	case ENOBUFS:
	case ETIMEDOUT:
	case EMFILE:
	case ENFILE:
		return true;
	default:
		return false;
	}
}

/* Call ibv_query_qp() by dispatch_call(): the queue pair may belong to another process. */
static int query_qp(struct ibv_qp *qp, int mask, struct ibv_qp_attr *attr,
		    struct ibv_qp_init_attr *init)
{
	const uint64_t args[16] = { (uintptr_t)qp, (uintptr_t)attr, (uint64_t)mask,
				    (uintptr_t)init };

	return (int)dispatch_call(VERB_query_qp, args);
}

static int query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	const uint64_t args[16] = { (uintptr_t)srq, (uintptr_t)attr };

	return (int)dispatch_call(VERB_query_srq, args);
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	const uint64_t args[16] = { (uintptr_t)context, port, (uintptr_t)attr, sizeof(*attr) };

	return (int)dispatch_call(VERB_query_port, args);
}

static uint32_t queue_size(const struct trace_event *event, const struct replica *queue)
{
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr srq;
	struct ibv_qp_attr attr;

	if (!queue->qp)
		return query_srq(queue->handle, &srq) ? 0 : srq.max_wr;
	if (query_qp(queue->handle, IBV_QP_CAP, &attr, &init))
		return 0;
	return post_is_send(event->post) ? init.cap.max_send_wr : init.cap.max_recv_wr;
}

/* Did the recorded post fail at its first request, because of a resource that the replay has? */
static bool is_refused(const struct trace_event *event, const struct replica *queue,
		       uint32_t under_way)
{
	const struct post *post = event->post;

	if (!is_resource_error(post->ret) || post->bad > 1)
		return false;
	if (post->verb != VERB_post_send && post->verb != VERB_post_recv &&
	    post->verb != VERB_post_srq_recv)
		return false;
	return post->ret != ENOMEM || under_way < queue_size(event, queue);
}

bool faults_are_due(const struct replay *r, const struct trace_event *event)
{
	const struct map *plan;
	uint64_t what;

	if (!r->faults)
		return false;
	if (recorded_fault_at(r, event->id))
		return true;
	plan = event->kind == TRACE_POLL ? &r->faults->sudden : &r->faults->forced;
	return plan->used && map_get(plan, event_key(event->id), &what);
}

static uint64_t count_struck(const struct fault_plan *plan)
{
	return plan->maker.struck() + processes_struck();
}

/*
 * Is the failure of the post's request to be injected? Not by the recorder's library, which makes a
 * request fail in any case, if the failure is due to the peer's receive. Failures of a receive only
 * if they were injected in the recording: others result from the message.
 */
static bool must_inject(const struct replay *r, const struct trace_event *event,
			const struct replica *queue)
{
	bool send = post_is_send(event->post);

	if (!r->faults->maker.recorder)
		return send;
	if (trace_made_fault(r->trace, event->id))
		return true;
	return send && !(queue->qp->peer && r->faults->erred[queue->qp->peer]);
}

static bool find_event_type(const char *name, int64_t *ret_type)
{
	const struct enum_info *types = enum_find("ibv_event_type");

	for (unsigned int i = 0; i < types->nvalues; i++)
		if (!strcmp(types->values[i].name, name)) {
			*ret_type = types->values[i].value;
			return true;
		}
	return false;
}

/* Make the queue pairs that complete to @cq fail; @cq still works. As the recorder did it. */
static void fail_users(struct replay *r, const struct ibv_cq *cq)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	for (uint32_t i = 1; i < r->nreplicas; i++) {
		const struct replica *replica = replica_of(r, i);
		struct ibv_qp *qp = replica && replica->qp ? replica->handle : NULL;
		const uint64_t args[16] = { (uintptr_t)qp, (uintptr_t)&attr, IBV_QP_STATE };

		if (qp && (qp->send_cq == cq || qp->recv_cq == cq))
			dispatch_call(VERB_modify_qp, args);
	}
}

/* Inject the asynchronous event before the post, as the recorder did it. */
static void raise_injected_event(struct replay *r, const struct trace_event *event,
				 const struct replica *queue)
{
	struct ibv_qp *qp = queue->handle;
	struct ibv_async_event async;
	char name[64];
	int64_t type;

	if (!queue->qp || !recorded_fault_async(r, event->id, name) ||
	    !find_event_type(name, &type))
		return;
	async = (struct ibv_async_event){ .element.qp = qp,
					  .event_type = (enum ibv_event_type)type };
	if (type == IBV_EVENT_CQ_ERR && !r->faults->maker.recorder) {
		fail_users(r, qp->send_cq); /* a CQ that overran had no completions */
		return;
	}
	if (type == IBV_EVENT_CQ_ERR)
		async.element.cq = qp->send_cq;
	else if (type != IBV_EVENT_QP_FATAL && type != IBV_EVENT_QP_REQ_ERR &&
		 type != IBV_EVENT_QP_ACCESS_ERR)
		return; /* faults_raise() reports it when the program gets the event */
	if (!process_raise(r->faults->maker.event, qp->context, &async))
		__atomic_add_fetch(&r->faults->raised, 1, __ATOMIC_RELAXED);
}

/* Delay the first request of a list: the fault's mark does not say which one it was. */
static void delay_request(struct fault_plan *plan, const struct ibv_qp *qp, uint64_t ns)
{
	char rule[64];

	snprintf(rule, sizeof(rule), "qp=%u n=1 delay=%lluns", qp->qp_num, (unsigned long long)ns);
	/* the recorder counts its faults itself */
	if (!process_fault(plan->maker.fault, rule) && !plan->maker.recorder)
		__atomic_add_fetch(&plan->raised, 1, __ATOMIC_RELAXED);
}

void faults_begin_post(struct replay *r, const struct trace_event *event,
		       const struct replica *queue, uint32_t under_way)
{
	uint64_t packed;

	if (!r->faults)
		return;
	if (r->recorded_faults) {
		raise_injected_event(r, event, queue);
		if (queue->qp && post_is_send(event->post) && recorded_fault_delay(r, event->id))
			delay_request(r->faults, queue->handle, recorded_fault_delay(r, event->id));
	}
	if (event->post->ret || faults_are_due(r, event))
		r->faults->struck = count_struck(r->faults);
	if (queue->qp && map_get(&r->faults->forced, event_key(event->id), &packed) &&
	    must_inject(r, event, queue))
		force_status(r->faults, queue->handle, post_is_send(event->post), packed);
	if (event->post->ret && is_refused(event, queue, under_way))
		fail_call(r->faults, event->post->ret);
}

/* Note an injected error: if it has consequences that were not recorded, it is the divergence. */
static void note_injected(struct replay *r, const struct divergence *d)
{
	struct divergence injected = *d;

	injected.replayed = "";
	injected.breaks = true;
	outcome_note_injected(r->outcome, &injected);
}

static void note_status(struct replay *r, const struct shown_failure *shown)
{
	const char *name = enum_name(enum_find("ibv_wc_status"), shown->status);
	char field[32], text[64];

	snprintf(field, sizeof(field), "wc[%u].status", shown->index);
	snprintf(text, sizeof(text), "%s (%d)", name ? name : "?", shown->status);
	note_injected(r, &(struct divergence){ .event = shown->poll,
					       .verb = shown->verb,
					       .field = field,
					       .recorded = text,
					       .about = shown->request,
					       .object = shown->qp });
}

static void note_error(struct replay *r, struct event_id event, enum verb verb, uint32_t object,
		       int error)
{
	const char *name = strerrorname_np(error);
	char text[64];

	snprintf(text, sizeof(text), "%s (%d)", name ? name : "?", error);
	note_injected(r, &(struct divergence){ .event = event,
					       .verb = verb,
					       .field = "ret",
					       .recorded = text,
					       .object = object });
}

void faults_end_post(struct replay *r, const struct trace_event *event)
{
	const struct post *post = event->post;
	uint64_t shown;

	if (!r->faults || (!post->ret && !faults_are_due(r, event)))
		return;
	if (count_struck(r->faults) != r->faults->struck) {
		if (post->ret)
			note_error(r, event->id, post->verb, post->object, post->ret);
		else if (map_get(&r->faults->shown_of, event_key(event->id), &shown))
			note_status(r, &r->faults->shown[shown - 1]);
	}
	if (post->ret)
		process_fault(r->faults->maker.fault, NULL);
}

/* The errno of a recorded call that failed; 0: it does not return an errno. */
static int recorded_error(const struct call *call)
{
	if (call->verb == VERB_rereg_mr) /* enum ibv_rereg_mr_err_code, negative */
		return 0;
	if (verb_infos[call->verb].fail == FAIL_NULL || call->ret == -1)
		return call->error;
	return (int)(call->ret < 0 ? -call->ret : call->ret);
}

static bool is_query_port(enum verb verb)
{
	return verb == VERB_query_port || verb == VERB_query_port_compat;
}

static void raise_port_event(struct fault_plan *plan, struct ibv_context *context,
			     enum ibv_event_type type, uint8_t port)
{
	const struct ibv_async_event async = { .event_type = type, .element.port_num = port };

	if (!process_raise(plan->maker.event, context, &async))
		__atomic_add_fetch(&plan->raised, 1, __ATOMIC_RELAXED);
}

/* Set the port to the state that the program saw: it may not have got the event of the change. */
static void set_port_state(struct replay *r, const struct call *call, const uint64_t *args)
{
	struct ibv_context *context = (void *)(uintptr_t)args[0];
	uint8_t port = (uint8_t)args[1];
	struct ibv_port_attr attr;
	int64_t there;

	if (!args_get(call->out, ARG(port_attr.state), &there) ||
	    query_port(context, port, &attr) || there == attr.state)
		return;
	if (there == IBV_PORT_DOWN && attr.state == IBV_PORT_ACTIVE)
		raise_port_event(r->faults, context, IBV_EVENT_PORT_ERR, port);
	if (there == IBV_PORT_ACTIVE && attr.state == IBV_PORT_DOWN)
		raise_port_event(r->faults, context, IBV_EVENT_PORT_ACTIVE, port);
}

static void relate_to_queue(struct replay *r, uint32_t from, const void *handle)
{
	uint64_t to;

	if (handle && map_get(&r->handles, (uintptr_t)handle, &to))
		outcome_relate_objects(r->outcome, from, (uint32_t)to);
}

/* An object whose destruction failed explains why its parents cannot be destroyed. */
static void note_call(struct replay *r, const struct trace_event *event, int error)
{
	const struct call *call = event->call;
	const struct object *o = trace_object(r->trace, call->object);
	const struct ibv_qp *qp = NULL;

	note_error(r, event->id, call->verb, call->object, error);
	if (!o || verb_infos[call->verb].effect != EFFECT_DESTROY)
		return;
	outcome_relate_objects(r->outcome, o->id, o->parent);
	if (o->kind == OBJECT_qp && replica_of(r, o->id))
		qp = replica_of(r, o->id)->handle;
	if (!qp)
		return;
	relate_to_queue(r, o->id, qp->send_cq);
	relate_to_queue(r, o->id, qp->recv_cq);
	relate_to_queue(r, o->id, qp->srq);
}

/* The recorder's library cannot change the state of a port, but the program sees it so. */
static int64_t query_as_recorded(const struct replay *r, const struct call *call,
				 const uint64_t *args, int64_t ret)
{
	struct ibv_port_attr *attr = (void *)(uintptr_t)args[2];
	int64_t there;

	if (r->faults && r->faults->maker.recorder && is_query_port(call->verb) && !ret &&
	    !call->failed && args_get(call->out, ARG(port_attr.state), &there) &&
	    (there == IBV_PORT_DOWN || there == IBV_PORT_ACTIVE) && attr->state != there) {
		attr->state = (enum ibv_port_state)there;
		if (args_get(call->out, ARG(port_attr.phys_state), &there))
			attr->phys_state = (uint8_t)there;
	}
	return ret;
}

int64_t faults_call(struct replay *r, const struct trace_event *event, const uint64_t *args)
{
	const struct call *call = event->call;
	bool creates = verb_infos[call->verb].effect == EFFECT_CREATE;
	int error = call->failed ? recorded_error(call) : 0;
	uint64_t struck;
	int64_t ret;

	if (r->faults && !call->failed && is_query_port(call->verb))
		set_port_state(r, call, args);
	if (!r->faults || !error)
		return query_as_recorded(r, call, args, dispatch_call(call->verb, args));
	if (recorded_fault_error(r, event->id)) {
		recorded_faults_count(r);
		note_call(r, event, error);
		errno = call->error;
		return call->ret;
	}
	struck = count_struck(r->faults);
	if (!creates && (call->verb == VERB_modify_qp || is_resource_error(error)))
		fail_call(r->faults, error);
	ret = dispatch_call(call->verb, args);
	if (creates && !verb_failed(call->verb, ret)) {
		dispatch_undo(call->verb, ret);
		fail_call(r->faults, error);
		ret = dispatch_call(call->verb, args);
	}
	error = errno;
	process_fault(r->faults->maker.fault, NULL);
	if (count_struck(r->faults) != struck)
		note_call(r, event, recorded_error(call));
	errno = error;
	return ret;
}

static bool is_in_error(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return query_qp(qp, IBV_QP_STATE, &attr, &init) || attr.qp_state == IBV_QPS_ERR;
}

/* The queue pair to make fail; NULL if it may fail by itself, since its peer had an error. */
static struct ibv_qp *find_failing_qp(struct replay *r, uint32_t id)
{
	const struct replica *replica = replica_of(r, id);
	const struct replica_qp *qp = replica ? replica->qp : NULL;

	if (!qp || !replica->handle || qp->cut ||
	    (qp->type != IBV_QPT_RC && qp->type != IBV_QPT_UC))
		return NULL;
	return qp->peer && r->faults->erred[qp->peer] && !r->faults->maker.recorder
		       ? NULL
		       : replica->handle;
}

void faults_begin_poll(struct replay *r, const struct trace_event *event)
{
	struct ibv_async_event async = { 0 };
	unsigned int turns = 0;
	int64_t deadline;
	uint64_t what;

	if (!r->faults || !map_get(&r->faults->sudden, event_key(event->id), &what))
		return;
	deadline = pace_now() + OWN_FAILURE_NS;
	do {
		async.element.qp = find_failing_qp(r, (uint32_t)what);
		if (!async.element.qp || is_in_error(async.element.qp))
			return;
	} while (pace_wait(&turns, deadline));
	async.element.qp = find_failing_qp(r, (uint32_t)what); /* destroyed meanwhile? */
	if (!async.element.qp)
		return;
	async.event_type = (enum ibv_event_type)(what >> 32);
	if (process_raise(r->faults->maker.event, async.element.qp->context, &async))
		return;
	__atomic_add_fetch(&r->faults->raised, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < event->poll->nwc; i++)
		if (event->poll->wc[i].qp == (uint32_t)what && event->poll->wc[i].status) {
			note_status(r, &(struct shown_failure){ event->id, event->poll->verb, i,
								(uint32_t)what,
								event->poll->wc[i].status,
								event->poll->wc[i].request });
			return;
		}
}

bool faults_raise(struct replay *r, struct ibv_context *context,
		  const struct ibv_async_event *async, bool outside, int64_t waited, int64_t limit)
{
	if (!r->faults || (!outside && waited < limit / OWN_EVENT_SHARE))
		return false;
	if ((!outside && !async->element.qp) ||
	    process_raise(r->faults->maker.event, context, async))
		return false;
	__atomic_add_fetch(&r->faults->raised, 1, __ATOMIC_RELAXED);
	return true;
}

uint64_t faults_caused(const struct replay *r)
{
	if (!r->faults)
		return 0;
	return r->faults->maker.struck() + processes_struck() +
	       (r->recorded_faults ? __atomic_load_n(&r->recorded_faults->again, __ATOMIC_RELAXED)
				   : 0) +
	       __atomic_load_n(&r->faults->raised, __ATOMIC_RELAXED);
}

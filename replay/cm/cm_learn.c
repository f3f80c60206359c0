/*
 * Facts about identifiers that must be known before the first one is created
 *
 * For each identifier: its addresses, and its queue pair, which was created on the identifier, or
 * which librdmacm moved to RTR when the program accepted a request or got the reply.
 *
 * Then the pairs: the source address and port of one end is the destination of the other, and the
 * n-th identifier with an address pair was connected to the n-th with the reverse pair.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "replay/cm/cm_priv.h"

struct cm_end *cm_end_of(const struct replay *r, uint32_t object)
{
	return object && object < r->cm->nends ? r->cm->ends[object] : NULL;
}

/*
 * The identifier at @handle at @time, else the next one created at that address: the identifier of
 * a connection request is created when rdma_get_cm_event() returns.
 */
static const struct object *find_object(struct replay *r, uint32_t process, uint64_t handle,
					int64_t time)
{
	const struct object *o = trace_object_at(r->trace, process, OBJECT_cm_id, handle, time);
	const struct object *next = NULL, *other;

	if (!handle || (o && o->created_at <= time && time <= o->destroyed_at))
		return handle ? o : NULL;
	for (uint32_t i = 1; (other = trace_object(r->trace, i)); i++)
		if (other->kind == OBJECT_cm_id && other->process == process &&
		    other->handle == handle && other->created_at > time &&
		    (!next || other->created_at < next->created_at))
			next = other;
	return next ? next : o;
}

struct cm_end *cm_end_at(struct replay *r, const struct trace_event *event, uint64_t handle,
			 int64_t time)
{
	const struct object *o = find_object(r, event->process, handle, time);

	return o && o->process == event->process ? cm_end_of(r, o->id) : NULL;
}

static int begin_learning(struct replay *r)
{
	const struct object *o;

	r->cm = calloc(1, sizeof(*r->cm));
	if (!r->cm)
		return -ENOMEM;
	r->cm->ends = calloc(r->nreplicas, sizeof(*r->cm->ends));
	if (!r->cm->ends)
		return -ENOMEM;
	r->cm->nends = r->nreplicas;
	for (uint32_t i = 1; (o = trace_object(r->trace, i)) && i < r->nreplicas; i++) {
		if (o->kind != OBJECT_cm_id)
			continue;
		r->cm->ends[i] = calloc(1, sizeof(**r->cm->ends));
		if (!r->cm->ends[i])
			return -ENOMEM;
		r->cm->ends[i]->object = i;
		r->cm->ends[i]->process = o->process;
		r->cm->ends[i]->last = &r->cm->ends[i]->first;
	}
	return 0;
}

int cm_learn_begin(struct replay *r)
{
	return r->cm ? 0 : begin_learning(r);
}

static struct cm_enclosing *inside_of(struct replay *r, uint32_t thread)
{
	struct cm *cm = r->cm;

	return vec_at(cm->inside, cm->ninside, thread);
}

static void copy_address(char *to, const char *address)
{
	if (address)
		snprintf(to, SOCKADDR_TEXT, "%s", address);
}

/* Did a listener reject the request? iWARP has only one status. */
static bool is_consumer_reject(int64_t status, int64_t length)
{
	return status < 0 ? length : status == CM_REJ_CONSUMER || status == CM_REJ_VENDOR;
}

/* @end was created by a connection request. */
static void learn_request(struct replay *r, const struct trace_event *event, const struct args *out,
			  struct cm_end *end)
{
	struct cm_end *listener;
	int64_t id = 0;

	args_get(out, ARG(event.listen_id), &id);
	listener = cm_end_at(r, event, (uint64_t)id, event->call->end);
	end->passive = true;
	if (!listener)
		return;
	end->listener = listener->object;
	/* the listener's port, if it was bound to port 0 */
	copy_address(listener->src, args_text(out, ARG(event.src_addr)));
}

static int64_t end_of_call(const struct call *call)
{
	return call->end < 0 ? INT64_MAX : call->end;
}

/* Learn the queue pair of the other end, which may have been destroyed before the trace begins. */
static void learn_peer_queue(const struct args *out, struct cm_end *end)
{
	int64_t number = 0, srq = 0;

	if (!args_get(out, ARG(event.conn.qp_num), &number))
		args_get(out, ARG(event.ud.qp_num), &number);
	args_get(out, ARG(event.conn.srq), &srq);
	if (!number)
		return;
	end->far_queue.qp_num = (uint32_t)number;
	end->far_queue.srq = (uint8_t)srq;
}

static void learn_got_event(struct replay *r, const struct trace_event *event,
			    const struct args *out, struct cm_enclosing *inside)
{
	const char *type = args_text(out, ARG(event.event));
	int64_t status = 0, id = 0, length = 0;
	struct cm_end *end;

	args_get(out, ARG(event.id), &id);
	args_get(out, ARG(event.status), &status);
	args_get(out, ARG(event.conn.private_data_len), &length);
	end = cm_end_at(r, event, (uint64_t)id, event->call->end);
	if (!type || !end)
		return;
	inside->connecting = end->object;
	inside->connecting_end = end_of_call(event->call);
	learn_peer_queue(out, end);
	end->completed |= !end->passive && !strcmp(type, "RDMA_CM_EVENT_ESTABLISHED");
	if (strcmp(type, "RDMA_CM_EVENT_ADDR_ERROR")) {
		copy_address(end->src, args_text(out, ARG(event.src_addr)));
		copy_address(end->dst, args_text(out, ARG(event.dst_addr)));
	} else {
		end->lost = true;
	}
	if (!strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST")) {
		learn_request(r, event, out, end);
		return;
	}
	if (!strcmp(type, "RDMA_CM_EVENT_REJECTED") && !is_consumer_reject(status, length))
		end->refused = true;
	if (!strcmp(type, "RDMA_CM_EVENT_UNREACHABLE") && status == CM_SIDR_NO_SERVICE)
		end->refused = true;
}

/* Learn the call, and its time, by which an identifier listened or connected. */
static void learn_begin_time(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct cm_end *end = cm_end_of(r, call->object);

	if (!end || call->failed ||
	    (call->verb != VERB_rdma_listen && call->verb != VERB_rdma_connect))
		return;
	end->call = event->id;
	end->called = call->begin;
}

/* Calls that wait for an event if their identifier is synchronous. */
static bool may_wait(enum verb verb)
{
	switch (verb) {
	case VERB_rdma_resolve_addr:
	case VERB_rdma_resolve_route:
	case VERB_rdma_connect:
	case VERB_rdma_accept:
	case VERB_rdma_disconnect:
	case VERB_rdma_join_multicast:
	case VERB_rdma_join_multicast_ex:
		return true;
	default:
		return false;
	}
}

/* Note an address that failed in the recording: it is not translated. */
static void learn_failed_address(struct replay *r, const struct call *call)
{
	struct cm_end *end = cm_end_of(r, call->object);

	if (end && call->failed && call->error != EAGAIN && call->error != EINPROGRESS &&
	    (call->verb == VERB_rdma_resolve_addr || call->verb == VERB_rdma_resolve_route))
		end->lost = true;
}

/* Learn the addresses of rdma_create_ep(): librdmacm may set them without inner calls. */
static int learn_ep(struct replay *r, const struct trace_event *event, struct cm_enclosing *inside)
{
	const struct call *call = event->call;

	if (call->verb == VERB_rdma_create_ep) {
		inside->ep = event->id;
		inside->ep_end = end_of_call(call);
	}
	if ((call->verb != VERB_rdma_bind_addr && call->verb != VERB_rdma_resolve_addr) ||
	    !call->depth || call->begin > inside->ep_end || call->object == 0 ||
	    (call->failed && call->error == EAFNOSUPPORT))
		return 0;
	return map_put(&r->cm->inside_ep, event_key(inside->ep), call->object);
}

static int learn_cm_call(struct replay *r, const struct trace_event *event,
			 struct cm_enclosing *inside, const struct args *out)
{
	const struct call *call = event->call;

	int err = learn_ep(r, event, inside);

	if (err)
		return err;
	learn_failed_address(r, call);
	learn_begin_time(r, event);
	if (call->verb == VERB_rdma_create_qp || call->verb == VERB_rdma_create_qp_ex) {
		inside->id = call->object;
		inside->id_end = end_of_call(call);
	}
	if (call->verb == VERB_rdma_accept) {
		inside->connecting = call->object;
		inside->connecting_end = end_of_call(call);
	}
	if (may_wait(call->verb)) {
		inside->call = event->id;
		inside->call_end = end_of_call(call);
	}
	if (call->verb != VERB_rdma_get_cm_event)
		return 0;
	if (!call->failed && out)
		learn_got_event(r, event, out, inside);
	if (!call->depth || call->begin > inside->call_end)
		return 0;
	return map_put(&r->cm->waited, event_key(inside->call), 1);
}

/* The identifier that the queue pair of @call belongs to, or NULL. */
static struct cm_end *find_owner(const struct replay *r, const struct call *call,
				 const struct cm_enclosing *inside)
{
	if (verb_infos[call->verb].object != OBJECT_qp || call->failed)
		return NULL;
	if (verb_infos[call->verb].effect == EFFECT_CREATE && call->begin <= inside->id_end)
		return cm_end_of(r, inside->id);
	if (call->verb == VERB_modify_qp && call->begin <= inside->connecting_end)
		return cm_end_of(r, inside->connecting);
	return NULL;
}

int cm_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		  const struct args *out)
{
	const struct call *call = event->call;
	struct cm_enclosing *inside;
	struct cm_end *end;
	int err;

	(void)in;
	if (verb_infos[call->verb].via != VIA_CM && !r->cm)
		return 0;
	err = r->cm ? 0 : begin_learning(r);
	inside = err ? NULL : inside_of(r, event->id.thread);
	if (!inside)
		return -ENOMEM;
	if (verb_infos[call->verb].via == VIA_CM)
		return learn_cm_call(r, event, inside, out);
	end = find_owner(r, call, inside);
	if (!end)
		return 0;
	end->qp = call->object;
	return map_put(&r->cm->of_qp, call->object, end->object);
}

/* A hash of both addresses, in the order of the connecting side. */
static uint64_t hash_pair(const char *from, const char *to)
{
	uint64_t hash = 14695981039346656037ull;

	for (const char *at = from; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 1099511628211ull;
	hash = (hash ^ ' ') * 1099511628211ull;
	for (const char *at = to; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 1099511628211ull;
	return hash;
}

static int add_asking_end(struct map *asking, struct cm_end *end)
{
	uint64_t key = hash_pair(end->src, end->dst), at;
	struct cm_end *last;

	if (!map_get(asking, key, &at))
		return map_put(asking, key, (uintptr_t)end);
	for (last = (void *)(uintptr_t)at; last->next_alike; last = last->next_alike)
		;
	last->next_alike = end;
	return 0;
}

/* Note @listener if it received the request of @asking although it listened only later. */
static int note_early_listener(struct replay *r, const struct cm_end *asking,
			       const struct cm_end *listener)
{
	if (!listener || !listener->call.thread || !asking->call.thread ||
	    listener->called <= asking->called)
		return 0;
	return map_put(&r->cm->heard, event_key(asking->call), event_key(listener->call));
}

static int pair_end(struct replay *r, struct map *asking, struct cm_end *end)
{
	uint64_t key = hash_pair(end->dst, end->src), at;
	struct cm_end *other;

	if (!map_get(asking, key, &at) || !at)
		return 0;
	other = (void *)(uintptr_t)at;
	map_put(asking, key, (uintptr_t)other->next_alike);
	other->refused = false; /* it was connected, even if an error was reported */
	end->partner = other->object;
	other->partner = end->object;
	return note_early_listener(r, other, cm_end_of(r, end->listener));
}

bool cm_has_listener(const struct replay *r, const struct cm_end *end)
{
	const struct cm_end *partner = cm_end_of(r, end->partner);

	return partner && partner->listener;
}

const struct map *cm_early_listeners(const struct replay *r)
{
	return r->cm && r->cm->driven && r->cm->heard.used ? &r->cm->heard : NULL;
}

/* Match the ends of connections. Objects are sorted by creation. */
int cm_pair(struct replay *r)
{
	struct map asking = { 0 };
	int err = 0;

	for (uint32_t i = 1; i < r->cm->nends && !err; i++)
		if (r->cm->ends[i] && !r->cm->ends[i]->passive && *r->cm->ends[i]->dst)
			err = add_asking_end(&asking, r->cm->ends[i]);
	for (uint32_t i = 1; i < r->cm->nends && !err; i++)
		if (r->cm->ends[i] && r->cm->ends[i]->passive && *r->cm->ends[i]->dst)
			err = pair_end(r, &asking, r->cm->ends[i]);
	map_fini(&asking);
	return err;
}

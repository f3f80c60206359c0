/*
 * What connections of librdmacm show of the clocks of two traces
 *
 * 	active			passive
 * 	rdma_connect()	 ----->	CONNECT_REQUEST
 * 	ESTABLISHED	<-----	rdma_accept()		also CONNECT_RESPONSE
 * 	(gets the reply)  ---->	ESTABLISHED		not of datagrams (SIDR)
 * 	rdma_establish()  ---->	ESTABLISHED		not after rdma_notify()
 * 	REJECTED	<----->	rdma_reject()		also a request that is destroyed
 * 	DISCONNECTED	<----->	rdma_disconnect(), rdma_destroy_id(), rdma_reject()
 *
 * A call begins before the event that it causes is received. A request by SIDR that is rejected
 * makes the other end UNREACHABLE. An end that disconnects gets DISCONNECTED only when the other
 * end has answered, by the same calls; with a status, if it never does. iWARP has the first two
 * rows only: its passive end is established by itself, and a queue pair in error ends a connection.
 *
 * Two identifiers are the ends of one connection if each event's addresses are the other's, no
 * others in these traces have them, and the request names a queue pair of the process that
 * connects, or the number that it passed.
 */
#include "analyzer/model/clock_cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"

enum { ADDRESS = 64 };

/*
 * One end of a connection. Times of causes are begins of calls, times of effects are those at which
 * events were received; 0: none.
 */
struct cm_end {
	uint32_t process, part;
	uint64_t id;
	char own[ADDRESS], other[ADDRESS];
	uint32_t number;        /* of the queue pair, as named by the request; 0: none */
	uint32_t given;         /* qp_num passed to rdma_connect() if librdmacm has no queue pair */
	bool passive, datagram; /* passive: made by a request */
	int64_t request;        /* when the request was received */
	bool notified;          /* a message may have established the connection, too */
	int64_t connect, accept, establish, reject, destroy, disconnect;
	int64_t getting; /* when the call began that returned `answered` */
	int64_t answered, established, rejected, disconnected;
};

struct clock_cm {
	struct trace *joint;
	struct cm_end *ends;
	size_t n;
	struct map by_id; /* identifier to 1 + index of its last end */
	struct map qps;   /* process << 32 | number */
	int err;
};

struct clock_cm *clock_cm_new(struct trace *joint)
{
	struct clock_cm *cm = calloc(1, sizeof(*cm));

	if (cm)
		cm->joint = joint;
	return cm;
}

void clock_cm_free(struct clock_cm *cm)
{
	if (!cm)
		return;
	free(cm->ends);
	map_fini(&cm->by_id);
	map_fini(&cm->qps);
	free(cm);
}

int clock_cm_add_qp(struct clock_cm *cm, uint32_t process, uint32_t number)
{
	return map_put(&cm->qps, (uint64_t)process << 32 | number, 1);
}

/* Ends */

/* Two pairs of process and id may have the same key: then neither is found. */
static uint64_t id_key(uint32_t process, uint64_t id)
{
	return map_hash(process) ^ id;
}

static struct cm_end *find_end(struct clock_cm *cm, uint32_t process, uint64_t id)
{
	uint64_t at;

	if (!id || !map_get(&cm->by_id, id_key(process, id), &at) ||
	    cm->ends[at - 1].process != process || cm->ends[at - 1].id != id)
		return NULL;
	return &cm->ends[at - 1];
}

static struct cm_end *add_end(struct clock_cm *cm, uint32_t process, uint64_t id)
{
	struct cm_end *end = id ? vec_push(cm->ends, cm->n) : NULL;

	if (!end || map_put(&cm->by_id, id_key(process, id), cm->n)) {
		cm->err = id ? -ENOMEM : cm->err;
		return NULL;
	}
	end->process = process;
	end->id = id;
	end->part = (uint32_t)trace_part_of(cm->joint, process);
	return end;
}

/* Events */

static void note_first(int64_t *time, int64_t now)
{
	if (!*time)
		*time = now;
}

static void read_address_text(char own[ADDRESS], const struct args *out, enum arg arg)
{
	const char *text = args_text(out, arg);

	if (text)
		snprintf(own, ADDRESS, "%s", text);
}

static void begin_call(struct clock_cm *cm, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct cm_end *end = find_end(cm, event->process, args_number(call->args, ARG(id)));

	if (!end)
		return;
	switch (call->verb) {
	case VERB_rdma_connect:
		note_first(&end->connect, event->time);
		end->given = (uint32_t)args_number(call->args, ARG(conn_param.qp_num));
		break;
	case VERB_rdma_accept:
		note_first(&end->accept, event->time);
		break;
	case VERB_rdma_establish:
		note_first(&end->establish, event->time);
		break;
	case VERB_rdma_notify:
		end->notified = true;
		break;
	case VERB_rdma_reject:
	case VERB_rdma_reject_ece:
		note_first(&end->reject, event->time);
		break;
	case VERB_rdma_disconnect:
		note_first(&end->disconnect, event->time);
		break;
	case VERB_rdma_destroy_id:
	case VERB_rdma_destroy_ep:
		note_first(&end->destroy, event->time);
		break;
	default:
		break;
	}
}

/* An identifier always has an event before the ones used here: ADDR_RESOLVED, or a request. */
static struct cm_end *end_of_event(struct clock_cm *cm, const struct trace_event *event, bool made)
{
	uint64_t id = args_number(event->call->out, ARG(event.id));
	struct cm_end *end = made ? NULL : find_end(cm, event->process, id);

	return end ?: add_end(cm, event->process, id);
}

static void note_passive_end(struct cm_end *end, const struct args *out)
{
	end->passive = true;
	end->number = (uint32_t)args_number(out, ARG(event.conn.qp_num))
			      ?: (uint32_t)args_number(out, ARG(event.ud.qp_num));
}

static void note_event_times(struct clock_cm *cm, const struct trace_event *event)
{
	const struct args *out = event->call->out;
	const char *name = args_text(out, ARG(event.event)),
		   *type = args_text(out, ARG(event.qp_type));
	bool made = name && !strcmp(name, "RDMA_CM_EVENT_CONNECT_REQUEST");
	struct cm_end *end = name ? end_of_event(cm, event, made) : NULL;
	int64_t now = event->call->end, status = 0;

	if (!end)
		return;
	read_address_text(end->own, out, ARG(event.src_addr));
	read_address_text(end->other, out, ARG(event.dst_addr));
	end->datagram = type && !strcmp(type, "IBV_QPT_UD");
	args_get(out, ARG(event.status), &status);
	if (made) {
		note_passive_end(end, out);
		end->request = now;
	} else if (!strcmp(name, "RDMA_CM_EVENT_CONNECT_RESPONSE") ||
		   !strcmp(name, "RDMA_CM_EVENT_ESTABLISHED")) {
		note_first(&end->getting, event->call->begin);
		note_first(&end->answered, now);
		if (strcmp(name, "RDMA_CM_EVENT_CONNECT_RESPONSE") != 0)
			note_first(&end->established, now);
	} else if (!strcmp(name, "RDMA_CM_EVENT_REJECTED") ||
		   (end->datagram && status > 0 && !strcmp(name, "RDMA_CM_EVENT_UNREACHABLE"))) {
		note_first(&end->rejected, now);
	} else if (!status && !strcmp(name, "RDMA_CM_EVENT_DISCONNECTED")) {
		note_first(&end->disconnected, now);
	}
}

static void end_call(struct clock_cm *cm, const struct trace_event *event)
{
	const struct call *call = event->call;

	if (call->failed || call->end < 0)
		return;
	if (call->verb == VERB_rdma_get_cm_event)
		note_event_times(cm, event);
	else if (call->verb == VERB_rdma_destroy_id || call->verb == VERB_rdma_destroy_ep)
		map_remove(&cm->by_id, id_key(event->process, args_number(call->args, ARG(id))));
}

int clock_cm_process_event(struct clock_cm *cm, const struct trace_event *event)
{
	if (event->kind == TRACE_CALL)
		begin_call(cm, event);
	else if (event->kind == TRACE_RETURN)
		end_call(cm, event);
	return cm->err;
}

/* Connections */

static bool is_one_connection(const struct clock_cm *cm, const struct cm_end *active,
			      const struct cm_end *passive)
{
	uint64_t has;

	return active->datagram == passive->datagram && !strcmp(active->own, passive->other) &&
	       !strcmp(active->other, passive->own) &&
	       (!passive->number || passive->number == active->given ||
		map_get(&cm->qps, (uint64_t)active->process << 32 | passive->number, &has));
}

/* Sort ends of one kind: the ends of one connection become consecutive. */
static int compare_addresses(const struct cm_end *a, const struct cm_end *b)
{
	int order = strcmp(a->passive ? a->other : a->own, b->passive ? b->other : b->own);

	return order ?: strcmp(a->passive ? a->own : a->other, b->passive ? b->own : b->other);
}

static int compare_end_addresses(const void *a, const void *b)
{
	return compare_addresses(*(const struct cm_end *const *)a,
				 *(const struct cm_end *const *)b);
}

/* Bound the clocks by one cause and its effect at the other end, if both were recorded. */
static void bound_by_cause(struct clock_edge *edge, const struct cm_end *from, int64_t cause,
			   int64_t effect)
{
	if (cause && effect)
		clock_edge_add_order(edge, &edge->objects, from->part, cause, effect);
}

static int64_t earlier_time(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Bound the clocks by how @from ended the connection and what @to received, whichever end began. */
static void bound_by_disconnect(struct clock_edge *edge, const struct cm_end *from,
				const struct cm_end *to)
{
	bool refused = from->passive && !from->accept;
	int64_t end = earlier_time(from->disconnect, earlier_time(from->reject, from->destroy));

	bound_by_cause(edge, from,
		       refused ? earlier_time(from->reject, from->destroy) : from->reject,
		       to->rejected);
	bound_by_cause(edge, from, end, to->disconnected);
}

static void put_connection(struct clock_edges *edges, const struct cm_end *active,
			   const struct cm_end *passive)
{
	struct clock_edge *edge = active->part == passive->part
					  ? NULL
					  : clock_edge_get(edges, active->part, passive->part);

	if (!edge)
		return;
	edge->connections++;
	bound_by_cause(edge, active, active->connect, passive->request);
	bound_by_cause(edge, passive, passive->accept, active->answered);
	if (!passive->number && !passive->datagram) /* iWARP */
		return;
	if (!passive->datagram)
		bound_by_cause(edge, active, active->getting, passive->established);
	if (!passive->notified)
		bound_by_cause(edge, active, active->establish, passive->established);
	bound_by_disconnect(edge, active, passive);
	bound_by_disconnect(edge, passive, active);
}

/*
 * Among @n ends with the same addresses, match an identifier that connected with the only request
 * that belongs to it.
 */
static void match_ends(const struct clock_cm *cm, struct cm_end *const *ends, size_t n,
		       struct clock_edges *edges)
{
	const struct cm_end *sides[2] = { NULL, NULL };

	for (size_t i = 0; i < n; i++) {
		if (sides[ends[i]->passive])
			return;
		sides[ends[i]->passive] = ends[i];
	}
	if (sides[0] && sides[1] && is_one_connection(cm, sides[0], sides[1]))
		put_connection(edges, sides[0], sides[1]);
}

static bool may_be_matched(const struct cm_end *end)
{
	return *end->own && *end->other && (end->passive || end->connect);
}

void clock_cm_finish(const struct clock_cm *cm, struct clock_edges *edges)
{
	struct cm_end **ends = calloc(cm->n + 1, sizeof(*ends));
	size_t n = 0;

	for (size_t i = 0; i < cm->n && ends; i++)
		if (may_be_matched(&cm->ends[i]))
			ends[n++] = &cm->ends[i];
	if (n)
		qsort(ends, n, sizeof(*ends), compare_end_addresses);
	for (size_t i = 0, next; i < n; i = next) {
		next = i + 1;
		while (next < n && !compare_addresses(ends[i], ends[next]))
			next++;
		match_ends(cm, &ends[i], next - i, edges);
	}
	free(ends);
}

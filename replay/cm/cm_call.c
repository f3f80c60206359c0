/*
 * Replaying calls of librdmacm
 *
 * A call that waits, because its identifier is synchronous, is only begun: the trace has the event
 * that ended it as a separate, inner call. The calls that rdma_create_ep() and similar functions
 * make are inner calls, too.
 *
 * Not here: addresses and groups (cm_bind.c), events (cm_event.c); queue pairs, which inner
 * calls create and connect.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/cm/cm_priv.h"
#include "replay/report/differ.h"
#include "replay/state/recorded_fault.h"

static const char gave_up[] = "an identifier that librdmacm created and destroyed inside another "
			      "call";
static const char option[] = "an option that sets a path of the recorded network";

static struct rdma_event_channel *find_channel(const struct cm_task *t)
{
	const struct object *o =
		trace_object_at(t->r->trace, t->event->process, OBJECT_cm_channel,
				args_number(t->args, ARG(channel)), t->event->time);

	return cm_channel_of(t->r, args_number(t->args, ARG(channel)) && o ? o->id : 0);
}

static int create_channel(struct cm_task *t)
{
	/* channel of a synchronous identifier: these use the replay's own channel */
	if (t->call->depth) {
		t->needless = true;
		return 0;
	}
	return cm_channel_of(t->r, t->call->object) ? 0 : -1;
}

/* The channel is closed at the end, since identifiers may still use it. */
static int destroy_channel(struct cm_task *t)
{
	t->needless = t->call->depth;
	return 0;
}

static enum rdma_port_space port_space(const struct cm_task *t, enum arg arg)
{
	uint64_t ps = args_number(t->args, arg);

	return ps ? (enum rdma_port_space)ps : RDMA_PS_TCP;
}

static int open_new_id(struct cm_task *t, struct rdma_event_channel *channel,
		       enum rdma_port_space ps)
{
	int err;

	t->end = cm_end_of(t->r, t->call->object);
	if (!t->end || t->end->id) {
		t->needless = true;
		return 0;
	}
	err = cm_open_end(t->r, t->end, channel, ps);
	if (err)
		errno = -err;
	return err ? -1 : 0;
}

static int create_id(struct cm_task *t)
{
	return open_new_id(t, find_channel(t), port_space(t, ARG(ps)));
}

static int destroy_id(struct cm_task *t)
{
	cm_close_end(t->r, t->end);
	return 0;
}

static int bind_addr(struct cm_task *t)
{
	return cm_bind(t, ARG(addr));
}

static int resolve_addr(struct cm_task *t)
{
	return cm_resolve(t, ARG(src_addr), ARG(dst_addr),
			  (int)args_number(t->args, ARG(timeout_ms)));
}

/* Replay rdma_create_ep(): the identifier; and its addresses, unless its inner calls have them. */
static int create_ep(struct cm_task *t)
{
	enum { MS = 2000 };
	int ret = open_new_id(t, cm_channel_of(t->r, 0), port_space(t, ARG(res.ai_port_space)));
	uint64_t inside;

	if (ret || t->needless || map_get(&t->r->cm->inside_ep, event_key(t->event->id), &inside))
		return ret;
	if (args_number(t->args, ARG(res.ai_flags)) & RAI_PASSIVE)
		return cm_bind(t, ARG(res.ai_src_addr));
	return cm_resolve(t, ARG(res.ai_src_addr), ARG(res.ai_dst_addr), MS);
}

static int resolve_route(struct cm_task *t)
{
	return t->lib->resolve_route(t->end->id, (int)args_number(t->args, ARG(timeout_ms)));
}

/*
 * Is there a listener now? A recorded request may have been sent before its listener existed, and
 * still have been received: networks are slow, and devices retry.
 */
static bool is_listened(struct replay *r, const struct cm_end *end)
{
	const struct cm_place *place = cm_place_find(r, end->dst, end->datagrams, end->refused);

	return place && place->listened;
}

static void connect_waiting_ids(struct replay *r)
{
	for (uint32_t i = 1; i < r->cm->nends; i++) {
		struct cm_end *end = r->cm->ends[i];

		if (!end || !end->waits || !end->id || !is_listened(r, end))
			continue;
		end->waits = false;
		r->cm->lib.connect(end->id, &end->param);
	}
}

static bool is_place_of(const struct cm_place *place, const struct cm_end *end, uint16_t port)
{
	return place->port == port && place->datagrams == end->datagrams;
}

static int note_listener(struct cm_task *t)
{
	uint16_t port = t->lib->get_src_port(t->end->id);
	struct cm *cm = t->r->cm;
	bool known = false;

	for (size_t i = 0; i < cm->nplaces; i++)
		known |= is_place_of(&cm->places[i], t->end, port) && !cm->places[i].keeper;
	if (!known && *t->end->src &&
	    cm_place_note(t->r, t->end->src, t->end->datagrams, false, port, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < cm->nplaces; i++)
		if (is_place_of(&cm->places[i], t->end, port))
			cm->places[i].listened = true;
	return cm_note_port(t->r, t->end);
}

static int listen_id(struct cm_task *t)
{
	int ret = t->lib->listen(t->end->id, (int)args_number(t->args, ARG(backlog)));

	if (!ret && note_listener(t))
		return log_err(-ENOMEM, "note a port");
	if (!ret)
		connect_waiting_ids(t->r);
	return ret;
}

/*
 * The queue pair of @t->end as its partner saw it, if the trace has none: it was destroyed before
 * the trace begins.
 */
static const struct cm_end *find_matching_id(const struct cm_task *t)
{
	return t->end->qp ? NULL : cm_end_of(t->r, t->end->partner);
}

/* The replayed number of the queue pair of @t->end, or else of the recorded number @named. */
static uint32_t find_qpn(const struct cm_task *t, uint32_t named)
{
	const struct replica *replica = replica_of(t->r, t->end->qp);
	const struct cm_end *shown = find_matching_id(t);
	const struct object *o;

	t->end->foreign_queue = false;
	if (replica && replica->number)
		return replica->number;
	if (!named && shown)
		named = shown->far_queue.qp_num;
	for (uint32_t i = 1; !replica && named && (o = trace_object(t->r->trace, i)); i++)
		if (o->kind == OBJECT_qp && o->process == t->event->process && o->number == named &&
		    o->created_at <= t->event->time && t->event->time < o->destroyed_at)
			return replica_of(t->r, i)->number;
	t->end->foreign_queue = named;
	return named;
}

/* Values above the device's limit are lowered, as librdmacm does for defaults. */
static uint8_t limit_rd_atomic(const struct cm_task *t, uint8_t value, bool initiator)
{
	const struct ibv_context *context = t->end->id->verbs;
	const struct device *device = context ? devices_of(t->r->devices, context) : NULL;
	int max = !device     ? 0
		  : initiator ? device->attr.max_qp_init_rd_atom
			      : device->attr.max_qp_rd_atom;

	return max > 0 && value > max && value != RDMA_MAX_RESP_RES && !t->call->failed
		       ? RDMA_MAX_RESP_RES
		       : value;
}

/*
 * Does the end receive from an SRQ? librdmacm takes this from the identifier's queue pair, if it
 * has one, not from the program's parameters.
 */
static uint8_t uses_srq(const struct cm_task *t, uint8_t named)
{
	const struct replica *replica = replica_of(t->r, t->end->qp);
	const struct ibv_qp *qp = replica ? replica->handle : NULL;
	const struct cm_end *shown = find_matching_id(t);

	return qp ? qp->srq != NULL : !named && shown ? shown->far_queue.srq : named;
}

/*
 * Parameters for identifiers without a queue pair; librdmacm's defaults if the program passes none.
 */
static struct rdma_conn_param read_parameters(const struct cm_task *t, uint8_t data[CM_DATA])
{
	static const struct cm_parameters args = CM_PARAMETERS(conn_param);
	struct rdma_conn_param param = { .responder_resources = RDMA_MAX_RESP_RES,
					 .initiator_depth = RDMA_MAX_INIT_DEPTH,
					 .retry_count = 7,
					 .rnr_retry_count = 7,
					 .srq = uses_srq(t, 0),
					 .qp_num = find_qpn(t, 0) };
	int64_t given;
	bool known;

	if (!args_get(t->args, ARG(conn_param.responder_resources), &given))
		return param;
	param = (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = cm_copy_private_data(t->args, &args, data, &known),
		.responder_resources = limit_rd_atomic(t, (uint8_t)given, false),
		.initiator_depth = limit_rd_atomic(
			t, (uint8_t)args_number(t->args, args.initiator_depth), true),
		.flow_control = (uint8_t)args_number(t->args, args.flow_control),
		.retry_count = (uint8_t)args_number(t->args, args.retry_count),
		.rnr_retry_count = (uint8_t)args_number(t->args, args.rnr_retry_count),
		.srq = uses_srq(t, (uint8_t)args_number(t->args, args.srq)),
		.qp_num = find_qpn(t, (uint32_t)args_number(t->args, args.qp_num)),
	};
	return param;
}

static int connect_id(struct cm_task *t)
{
	struct cm_end *end = t->end;
	struct rdma_conn_param param = read_parameters(t, end->data);
	int err = cm_note_connected(t->r, end);

	if (err)
		return err;
	if (t->call->failed || !cm_has_listener(t->r, end) || is_listened(t->r, end))
		return t->lib->connect(end->id, &param);
	end->param = param;
	end->waits = true;
	return 0;
}

static int accept_id(struct cm_task *t)
{
	uint8_t data[CM_DATA];
	struct rdma_conn_param param = read_parameters(t, data);

	return cm_note_connected(t->r, t->end) ?: t->lib->accept(t->end->id, &param);
}

static int establish_id(struct cm_task *t)
{
	return t->lib->establish(t->end->id);
}

static uint8_t read_private(const struct cm_task *t, uint8_t data[CM_DATA])
{
	const char *hex = args_text(t->args, ARG(private_data));
	size_t length = (size_t)args_number(t->args, ARG(private_data_len));

	memset(data, 0, CM_DATA);
	for (size_t i = 0; hex && i < length && i < CM_DATA && strlen(hex) >= 2 * i + 2; i++)
		sscanf(hex + 2 * i, "%2hhx", &data[i]);
	return (uint8_t)length;
}

static int reject_id(struct cm_task *t)
{
	uint8_t data[CM_DATA], length = read_private(t, data);

	if (t->call->verb == VERB_rdma_reject_ece && t->lib->reject_ece)
		return t->lib->reject_ece(t->end->id, data, length);
	return t->lib->reject(t->end->id, data, length);
}

static int notify_id(struct cm_task *t)
{
	return t->lib->notify(t->end->id, (enum ibv_event_type)args_number(t->args, ARG(event)));
}

static int disconnect_id(struct cm_task *t)
{
	return t->lib->disconnect(t->end->id);
}

/* A port is compared with the port that it replaces. */
static int get_port(struct cm_task *t)
{
	t->needless = !*t->end->dst && !t->end->id->route.addr.src_addr.sa_family;
	if (t->call->verb == VERB_rdma_get_src_port)
		return t->lib->get_src_port(t->end->id);
	return t->lib->get_dst_port(t->end->id);
}

static int set_option(struct cm_task *t)
{
	uint8_t value[CM_DATA] = { 0 };
	const char *hex = args_text(t->args, ARG(optval));
	size_t length = (size_t)args_number(t->args, ARG(optlen));

	if (args_number(t->args, ARG(level)) != RDMA_OPTION_ID || length > sizeof(value) || !hex) {
		outcome_note_tolerated(t->r->outcome, option);
		t->needless = true;
		return 0;
	}
	for (size_t i = 0; i < length && strlen(hex) >= 2 * i + 2; i++)
		sscanf(hex + 2 * i, "%2hhx", &value[i]);
	return t->lib->set_option(t->end->id, RDMA_OPTION_ID,
				  (int)args_number(t->args, ARG(optname)), value, length);
}

static int migrate_id(struct cm_task *t)
{
	if (t->call->depth) { /* an identifier becomes synchronous, with its own channel */
		t->needless = true;
		return 0;
	}
	return t->lib->migrate_id(t->end->id, find_channel(t));
}

/* Calls of librdmacm that are replayed; other calls consist of these, or of verbs. */
static int (*const calls[VERB_COUNT])(struct cm_task *) = {
	[VERB_rdma_create_event_channel] = create_channel,
	[VERB_rdma_destroy_event_channel] = destroy_channel,
	[VERB_rdma_create_id] = create_id,
	[VERB_rdma_create_ep] = create_ep,
	[VERB_rdma_destroy_id] = destroy_id,
	[VERB_rdma_bind_addr] = bind_addr,
	[VERB_rdma_resolve_addr] = resolve_addr,
	[VERB_rdma_resolve_route] = resolve_route,
	[VERB_rdma_listen] = listen_id,
	[VERB_rdma_connect] = connect_id,
	[VERB_rdma_accept] = accept_id,
	[VERB_rdma_establish] = establish_id,
	[VERB_rdma_reject] = reject_id,
	[VERB_rdma_reject_ece] = reject_id,
	[VERB_rdma_notify] = notify_id,
	[VERB_rdma_disconnect] = disconnect_id,
	[VERB_rdma_join_multicast] = cm_join,
	[VERB_rdma_join_multicast_ex] = cm_join,
	[VERB_rdma_leave_multicast] = cm_leave,
	[VERB_rdma_get_src_port] = get_port,
	[VERB_rdma_get_dst_port] = get_port,
	[VERB_rdma_set_option] = set_option,
	[VERB_rdma_migrate_id] = migrate_id,
};

bool cm_takes(const struct trace_event *event)
{
	const struct call *call = event->call;

	if (call->ours)
		return false;
	if (call->verb == VERB_rdma_get_cm_event)
		return (event->kind == TRACE_RETURN) == (call->end >= 0);
	return event->kind == TRACE_CALL && calls[call->verb];
}

static bool makes_cm_object(enum verb verb)
{
	return verb == VERB_rdma_create_id || verb == VERB_rdma_create_ep ||
	       verb == VERB_rdma_create_event_channel || verb == VERB_rdma_destroy_event_channel;
}

/* Did the recorded call wait for its event? The replayed result only says that it was begun. */
static bool has_waited(const struct cm_task *t)
{
	uint64_t waited;

	return map_get(&t->r->cm->waited, event_key(t->event->id), &waited);
}

static void compare_result(const struct cm_task *t, int ret, int err)
{
	struct call there = *t->call;

	if (there.end < 0)
		return;
	if (has_waited(t)) {
		there.failed = false;
		there.ret = 0;
	}
	if (there.verb == VERB_rdma_get_src_port || there.verb == VERB_rdma_get_dst_port) {
		if (!there.ret == !ret)
			return;
	} else if (verb_infos[there.verb].fail == FAIL_NULL) {
		differ_check_result(t->r->outcome, t->event->id, &there, !ret, err);
		return;
	}
	differ_check_result(t->r->outcome, t->event->id, &there, ret, err);
}

/* Is @verb for a connection, not only for its identifier? */
static bool is_of_connection(enum verb verb)
{
	switch (verb) {
	case VERB_rdma_connect:
	case VERB_rdma_accept:
	case VERB_rdma_establish:
	case VERB_rdma_reject:
	case VERB_rdma_reject_ece:
	case VERB_rdma_notify:
	case VERB_rdma_disconnect:
		return true;
	default:
		return false;
	}
}

/* Why the call is not replayed; NULL: it is. */
static const char *why_cm_skipped(const struct cm_task *t)
{
	const char *unmade = cm_why_not_connected(t->r, t->end);

	if (unmade && (is_of_connection(t->call->verb) || !t->end->id))
		return makes_cm_object(t->call->verb) ? NULL : unmade;
	if (makes_cm_object(t->call->verb) || (t->end && t->end->id))
		return NULL;
	return t->end ? "its identifier does not exist in the replay"
		      : "its identifier is not in the trace";
}

/* Does the identifier lack the device that the call needs? librdmacm would dereference NULL. */
static bool lacks_device(const struct cm_task *t)
{
	switch (t->call->verb) {
	case VERB_rdma_resolve_route:
	case VERB_rdma_connect:
	case VERB_rdma_accept:
	case VERB_rdma_establish:
	case VERB_rdma_disconnect:
	case VERB_rdma_join_multicast:
	case VERB_rdma_join_multicast_ex:
	case VERB_rdma_leave_multicast:
		return !t->end->id->verbs;
	default:
		return false;
	}
}

static int refuse_call(void)
{
	errno = EINVAL;
	return -1;
}

int cm_call(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct cm_task t = { r, event, call, call->args, NULL, &r->cm->lib, false };
	const char *why;
	int ret, err = args_parse(call->args);

	if (err)
		return err;
	if (!makes_cm_object(call->verb))
		t.end = cm_end_at(r, event, args_number(t.args, ARG(id)), event->time);
	why = why_cm_skipped(&t);
	if (why && call->depth) { /* rdma_create_ep() that failed; a request that is not accepted */
		outcome_note_tolerated(r->outcome, gave_up);
		return 0;
	}
	if (why) {
		outcome_note_skipped(r->outcome, event->id, call->verb, t.end ? t.end->object : 0,
				     why);
		return 0;
	}
	errno = 0;
	err = recorded_fault_repeat(r, event->id, call->verb, t.end ? t.end->object : 0);
	if (err) {
		outcome_count_call(r->outcome, call->verb);
		compare_result(&t, -1, err);
		return 0;
	}
	ret = lacks_device(&t) ? refuse_call() : calls[call->verb](&t);
	err = errno;
	if (ret < -1)
		return ret;
	if (t.needless)
		return 0;
	outcome_count_call(r->outcome, call->verb);
	compare_result(&t, ret, err);
	return 0;
}

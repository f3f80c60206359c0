/*
 * Objects of librdmacm
 *
 * 	channel <- identifier		rdma_create_id(), a connection request, rdma_migrate_id()
 * 	identifier <- queue pair	rdma_create_qp()
 * 	identifier: events		from rdma_get_cm_event(), until rdma_ack_cm_event()
 *
 * The event of a connection request counts for the listening identifier, and brings a new
 * identifier. Events of multicast groups count for the group: rdma_leave_multicast() waits until
 * they are acknowledged.
 */
#include "analyzer/model/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/control.h"
#include "analyzer/model/destroy_race.h"
#include "analyzer/model/model_state.h"
#include "core/wire/log.h"

static struct life *find_live_argument(struct model *model, const struct trace_event *event,
				       const struct args *args, enum arg arg, enum object_kind kind)
{
	struct life *life = model_argument(model, event, args, arg, kind);

	return life && life->state == LIFE_LIVE && !life->inherited ? life : NULL;
}

/* Remember the call that the thread is in. */
static int note_entered_call(struct model *model, const struct trace_event *event)
{
	uint32_t thread = event->id.thread;
	bool begins = event->kind == TRACE_CALL;
	int64_t id = 0;

	if (thread >= model->nin_cm) {
		struct cm_call *more = realloc(model->in_cm, (thread + 1ul) * sizeof(*more));

		if (!more)
			return log_err(-ENOMEM, "model of live objects");
		memset(more + model->nin_cm, 0, (thread + 1ul - model->nin_cm) * sizeof(*more));
		model->in_cm = more;
		model->nin_cm = thread + 1;
	}
	if (begins && event->call->args)
		args_get(event->call->args, ARG(id), &id);
	model->in_cm[thread] = (struct cm_call){ begins, (uint64_t)id };
	return 0;
}

/* rsockets create identifiers inside librdmacm, which are not the program's. */
static bool is_of_library(const struct model *model, uint32_t stack)
{
	struct frame frame;
	const char *slash;

	if (!model->trace || !stack || !trace_stack(model->trace, stack, &frame, 1) ||
	    !frame.module)
		return false;
	slash = strrchr(frame.module, '/');
	return !strncmp(slash ? slash + 1 : frame.module, "librdmacm.so", 12);
}

/* @channel may be NULL: librdmacm's own. */
static int make_object(struct model *model, const struct trace_event *event, enum object_kind kind,
		       uint64_t handle, struct life *channel)
{
	const struct call *call = event->call;
	const struct object *object = NULL;
	struct life *life;

	if (!handle)
		return 0;
	life = lives_new(&model->lives);
	if (!life)
		return log_err(-ENOMEM, "model of live objects");
	life->kind = kind;
	life->process = event->process;
	life->handle = handle;
	life->created = moment_of(event);
	life->borrowed = is_of_library(model, call->stack);
	if (model->trace) /* the call's object may be another one: the channel of an event */
		object = trace_object_at(model->trace, event->process, kind, handle, call->end);
	life_set_name(life, model->trace, object ? object->id : 0);
	lives_add(&model->lives, life);
	return channel && life_link(channel, life) < 0 ? log_err(-ENOMEM, "model of live objects")
						       : 0;
}

static const char *event_name(const struct args *args)
{
	const char *name = args_text(args, ARG(event.event));

	return name ? name : "";
}

/* The object whose destroy waits until the event is acknowledged; NULL: not known. */
static struct life *owner_of_event(struct model *model, const struct trace_event *event,
				   const struct args *args)
{
	const char *name = event_name(args);

	if (!strncmp(name, "RDMA_CM_EVENT_MULTICAST", 23))
		return NULL;
	return model_argument(model, event, args,
			      strcmp(name, "RDMA_CM_EVENT_CONNECT_REQUEST") ? ARG(event.id)
									    : ARG(event.listen_id),
			      OBJECT_cm_id);
}

/* Can the identifier not be connected again after this event? */
static bool is_last_event(const char *event)
{
	static const char *const last[] = { "RDMA_CM_EVENT_DISCONNECTED", "RDMA_CM_EVENT_REJECTED",
					    "RDMA_CM_EVENT_UNREACHABLE",
					    "RDMA_CM_EVENT_CONNECT_ERROR" };

	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		if (!strcmp(event, last[i]))
			return true;
	return false;
}

static void note_last_event(struct life *id, int64_t time)
{
	if (!id->ended && !id->disconnected) {
		id->unmade = id->got;
		id->unmade_event = id->got_event;
		id->unmade_at = time;
	}
	id->ended = true;
}

static int note_cm_event(struct model *model, const struct trace_event *event)
{
	const struct args *out = event->call->out;
	struct life *id = owner_of_event(model, event, out);
	int64_t new, number;
	int err;

	if (id) {
		id->events++;
		id->got = moment_of(event);
		args_get(out, ARG(event.event), &id->got_event);
		id->disconnected |= !strcmp(event_name(out), "RDMA_CM_EVENT_DISCONNECTED");
		if (is_last_event(event_name(out)))
			note_last_event(id, event->time);
		id->resolved |= !strcmp(event_name(out), "RDMA_CM_EVENT_ADDR_RESOLVED");
		id->routed |= !strcmp(event_name(out), "RDMA_CM_EVENT_ROUTE_RESOLVED");
		if (!strcmp(event_name(out), "RDMA_CM_EVENT_CONNECT_RESPONSE"))
			id->responded = id->got;
	}
	if (strcmp(event_name(out), "RDMA_CM_EVENT_CONNECT_REQUEST") ||
	    !args_get(out, ARG(event.id), &new))
		return 0;
	err = make_object(model, event, OBJECT_cm_id, (uint64_t) new,
			  find_live_argument(model, event, event->call->args, ARG(channel),
					     OBJECT_cm_channel));
	id = err ? NULL : lives_find(&model->lives, event->process, OBJECT_cm_id, (uint64_t) new);
	if (id && args_get(out, ARG(event.conn.qp_num), &number))
		id->asked = (uint32_t)number;
	return err;
}

static void note_cm_ack(struct model *model, const struct trace_event *event)
{
	struct life *id = owner_of_event(model, event, event->call->args);

	if (id && id->events)
		id->events--;
}

static int note_migration(struct model *model, const struct trace_event *event)
{
	const struct args *args = event->call->args;
	struct life *id = find_live_argument(model, event, args, ARG(id), OBJECT_cm_id);
	struct life *channel =
		find_live_argument(model, event, args, ARG(channel), OBJECT_cm_channel);

	if (!id)
		return 0;
	id->leaving.id.thread = 0;
	if (event->call->failed)
		return 0;
	life_unlink_kind(id, OBJECT_cm_channel);
	return channel ? life_link(channel, id) : 0;
}

uint16_t cm_find_port(const char *address)
{
	const char *colon = address ? strrchr(address, ':') : NULL;

	return colon ? (uint16_t)strtoul(colon + 1, NULL, 10) : 0;
}

/* Note a connect, accept, reject or disconnect. */
static void note_cm_call(struct life *id, const struct trace_event *event)
{
	const struct call *call = event->call;
	bool connects = call->verb == VERB_rdma_connect || call->verb == VERB_rdma_accept;
	int64_t sends = 1, takes = 1;

	if (connects) {
		args_get(call->args, ARG(conn_param.initiator_depth), &sends);
		args_get(call->args, ARG(conn_param.responder_resources), &takes);
	}
	id->cm_call = moment_of(event);
	id->sends_no_reads = !sends;
	id->takes_no_reads = !takes;
}

/* Note what a successful call shows about its identifier. */
static void note_use(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct life *id =
		call->args ? find_live_argument(model, event, call->args, ARG(id), OBJECT_cm_id)
			   : NULL;

	if (!id)
		return;
	id->placed |= call->verb == VERB_rdma_resolve_addr || call->verb == VERB_rdma_bind_addr;
	id->bound |= call->verb == VERB_rdma_bind_addr;
	if (call->verb == VERB_rdma_bind_addr)
		id->port = cm_find_port(args_text(call->args, ARG(addr)));
	id->listens |= call->verb == VERB_rdma_listen;
	id->established |= call->verb == VERB_rdma_establish;
	if (call->verb == VERB_rdma_init_qp_attr)
		id->prepared = moment_of(event);
	if (call->verb == VERB_rdma_connect || call->verb == VERB_rdma_accept ||
	    call->verb == VERB_rdma_reject || call->verb == VERB_rdma_disconnect)
		note_cm_call(id, event);
}

/* A call has created an object: rdma_create_id() an identifier, other calls other objects. */
static int make_of_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	const char *ps = args_text(call->args, ARG(ps));
	int err = make_object(
		model, event, verb_infos[call->verb].object, call->handle,
		find_live_argument(model, event, call->args, ARG(channel), OBJECT_cm_channel));
	struct life *id =
		err || !ps ? NULL
			   : lives_find(&model->lives, event->process, OBJECT_cm_id, call->handle);

	if (verb_infos[call->verb].object == OBJECT_cm_id && !args_number(call->args, ARG(channel)))
		model->hidden_channels = true;
	if (id)
		id->ps_datagrams = !strcmp(ps, "RDMA_PS_UDP") || !strcmp(ps, "RDMA_PS_IPOIB");
	return err;
}

/* The identifier leaves its channel, when its events are acknowledged. */
static void begin_migration(struct model *model, const struct trace_event *event)
{
	struct life *id =
		find_live_argument(model, event, event->call->args, ARG(id), OBJECT_cm_id);

	if (id)
		id->leaving = moment_of(event);
}

/*
 * Report the identifiers and channels among the arguments that were destroyed. Not those of an
 * event that is acknowledged: a server may first destroy the identifier of a request that it
 * rejects. The channels that librdmacm itself creates for identifiers are not in the trace.
 */
static void report_dead(struct model *model, const struct trace_event *event)
{
	const struct handle_list *list = handles_of_inputs(event->call->verb);

	if (event->call->verb == VERB_rdma_ack_cm_event || is_of_library(model, event->call->stack))
		return;
	for (unsigned int i = 0; i < list->n; i++) {
		const struct handle *handle = &list->handles[i];
		struct life *life;

		if (handle->kind != OBJECT_cm_id &&
		    (handle->kind != OBJECT_cm_channel || model->hidden_channels))
			continue;
		life = model_argument(model, event, event->call->args, handle->arg, handle->kind);
		if (life && life->state == LIFE_GONE && !life->inherited && !life->borrowed)
			watcher_use(&model->watcher, event, event->call->verb, life,
				    arg_path(handle->arg), 0);
	}
}

static int begin_cm_call(struct model *model, const struct trace_event *event)
{
	if (event->call->args)
		report_dead(model, event);
	if (event->call->verb == VERB_rdma_migrate_id && event->call->args)
		begin_migration(model, event);
	if (event->call->verb == VERB_rdma_ack_cm_event && event->call->args)
		note_cm_ack(model, event);
	if (verb_infos[event->call->verb].effect == EFFECT_DESTROY && event->call->args)
		return control_begin_destroy(model, event);
	return event->call->args ? destroy_race_begin_call(model, event) : 0;
}

static int end_cm_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum verb_effect effect = verb_infos[call->verb].effect;

	destroy_race_end_call(model, event);
	if (effect == EFFECT_DESTROY)
		return control_end_destroy(model, event);
	if (call->verb == VERB_rdma_migrate_id && call->args)
		return note_migration(model, event);
	if (call->failed)
		return 0;
	note_use(model, event);
	if (effect == EFFECT_CREATE)
		return make_of_call(model, event);
	if (call->verb == VERB_rdma_get_cm_event && call->out)
		return note_cm_event(model, event);
	return 0;
}

int cm_process_event(struct model *model, const struct trace_event *event)
{
	int err = args_parse(event->call->args);

	if (!err && event->kind == TRACE_RETURN)
		err = args_parse(event->call->out);
	if (err)
		return log_err(err, "arguments of a call");
	err = note_entered_call(model, event);
	if (!err)
		err = event->kind == TRACE_CALL ? begin_cm_call(model, event)
						: end_cm_call(model, event);
	return err;
}

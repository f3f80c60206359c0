/*
 * Replaying control verbs
 *
 *	recorded JSON -> structures in memory -> translated -> called -> compared
 *
 * A verb is called at the time when it began, so that its object exists before anything uses it. A
 * verb that destroys or waits is called at the time when it returned: the event that it waited for
 * has happened by then.
 */
#include "replay/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/store/db/args_visit.h"
#include "core/store/read/build.h"
#include "core/wire/log.h"
#include "replay/cm/cm.h"
#include "replay/state/cut.h"
#include "replay/report/differ.h"
#include "replay/device/dispatch.h"
#include "replay/effect.h"
#include "replay/events.h"
#include "replay/state/needs.h"
#include "replay/process/process.h"
#include "replay/data/faults.h"
#include "replay/state/recorded.h"
#include "replay/replica.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"

static const char still_waiting[] = "a call that waited for an event until its process ended";
static const char under_way[] = "a call in progress at the end of the trace";

/* Verbs that are not replayed, and why. */
static const char *const left_out[VERB_COUNT] = {
	[VERB_import_device] = "a trace does not contain file descriptors of other processes",
	[VERB_import_pd] = "a handle from the context of another process is not valid in the "
			   "replay",
	[VERB_import_mr] = "a handle from the context of another process is not valid in the "
			   "replay",
	[VERB_import_dm] = "a handle from the context of another process is not valid in the "
			   "replay",
	[VERB_unimport_pd] = "imported objects are not replayed",
	[VERB_unimport_mr] = "imported objects are not replayed",
	[VERB_unimport_dm] = "imported objects are not replayed",
	[VERB_reg_dmabuf_mr] = "a trace does not contain file descriptors of DMA buffers",
	[VERB_reg_mr_ex] = "registrations by ibv_reg_mr_ex() are not replayed",
	[VERB_export_buf_dmabuf_fd] = "a trace does not contain file descriptors of buffers",
	[VERB_dm_export_dmabuf_fd] = "a trace does not contain file descriptors of DMA buffers",
	[VERB_create_flow] = "the specifications of a flow are not in the trace",
	[VERB_create_flow_action_esp] = "keys are not in the trace",
	[VERB_modify_flow_action_esp] = "keys are not in the trace",
	[VERB_post_srq_ops] = "tag matching lists are not replayed",
};

/* Verbs that need not be called, and why. */
static const char *const needless[VERB_COUNT] = {
	[VERB_alloc_buf] = "memory of the library: the replay uses its own memory for the regions",
	[VERB_free_buf] = "memory of the library: the replay uses its own memory for the regions",
};

static bool is_done_at_return(enum verb verb)
{
	const struct verb_info *v = &verb_infos[verb];

	return v->effect == EFFECT_DESTROY || v->effect == EFFECT_GET || v->blocks;
}

static bool has_outputs(const struct verb_info *v)
{
	if (v->effect == EFFECT_CREATE)
		return true;
	for (unsigned int i = 0; i < v->args.nfields; i++)
		if (v->args.fields[i].dir & DIR_OUT)
			return true;
	return false;
}

static int compare_outputs(struct replay *r, const struct trace_event *event, const uint64_t *args,
			   int64_t ret)
{
	const struct call *call = event->call;
	char *json;
	int err;

	if (!call->out || call->failed || verb_failed(call->verb, ret) ||
	    !has_outputs(&verb_infos[call->verb]))
		return 0;
	err = args_out_json(call->verb, args, ret, &json);
	if (err)
		return err;
	err = differ_check_outputs(r->outcome, event->id, call->verb, call->object, call->out,
				   json);
	free(json);
	return err;
}

/* If a queue pair could not reach the recorded state, stop replaying it. */
static void cut_failed_qp(struct replay *r, const struct call *call, const uint64_t *args,
			  int64_t ret)
{
	if (call->verb == VERB_modify_qp && !call->failed && verb_failed(call->verb, ret) &&
	    args[2] & IBV_QP_STATE)
		cut_connection(r, call->object, 0,
			       "its queue pair could not be modified in the "
			       "replay");
}

/* The object that a call destroys; 0: not known. */
static uint32_t find_destroyed(struct replay *r, const struct trace_event *event)
{
	const struct field_info *field = &verb_infos[event->call->verb].args.fields[0];
	const struct object *o;
	int64_t handle = 0;

	args_value(args_field(event->call->args, field), &handle);
	o = trace_object_at(r->trace, event->process, field->object, (uint64_t)handle,
			    event->call->begin);
	return o && handle ? o->id : 0;
}

/*
 * Establish the preconditions of a destroy: destroy objects whose destruction the trace lost, and
 * acknowledge all events. Called before the arguments of the destroy are translated, since other
 * threads may destroy objects meanwhile.
 */
static int prepare_destroy(struct replay *r, const struct trace_event *event)
{
	int err = args_parse(event->call->args);
	uint32_t object;

	if (err || verb_infos[event->call->verb].effect != EFFECT_DESTROY)
		return err;
	object = find_destroyed(r, event);
	for (uint32_t i = r->undestroyed ? r->nmade : 0; i-- > 0;)
		if (r->replicas[r->made[i]].undestroyed && r->made[i] != object &&
		    trace_object(r->trace, r->made[i])->destroyed_at < event->time)
			replica_destroy(r, r->made[i]);
	events_before_destroy(r, object);
	return 0;
}

/* An object that could not be destroyed explains failures to destroy its parents. */
static void report_busy(struct replay *r, const struct call *call, int64_t ret)
{
	const struct object *o = trace_object(r->trace, call->object);
	const struct replica *replica = replica_of(r, call->object);

	if (!o || verb_infos[call->verb].effect != EFFECT_DESTROY || call->failed ||
	    !verb_failed(call->verb, ret))
		return;
	outcome_relate_objects(r->outcome, o->id, o->parent);
	if (o->kind == OBJECT_cq && replica->handle)
		outcome_relate_objects(
			r->outcome, o->id,
			effect_find_object(r,
					   (uintptr_t)((struct ibv_cq *)replica->handle)->channel));
}

/*
 * Report that a call failed because of the replay's memory limit (--max-memory), which the
 * recording did not have.
 */
static int report_limit(const struct replay *r, const struct trace_event *event)
{
	uint64_t max = r->options->max_memory;
	bool mib = max >> 20;
	char text[32];

	log_note("replay: %s at %s was not replayed, since its queue on the software device "
		 "exceeds --max-memory (%" PRIu64 " %s): if you trust the trace, try "
		 "--max-memory %" PRIu64 "%c",
		 verb_infos[event->call->verb].name, event_id_text(event->id, text),
		 max >> (mib ? 20 : 10), mib ? "MiB" : "KiB", (max >> (mib ? 20 : 10)) * 2 + 1,
		 mib ? 'M' : 'k');
	return -EFBIG;
}

static int repeat_call(struct translation *t, const uint64_t *args)
{
	unsigned int refused = process_refused();
	const struct trace_event *event = t->event;
	struct replay *r = t->r;
	const struct call *call = event->call;
	int64_t ret;
	int err;

	ret = faults_call(r, event, args);
	err = errno;
	if (verb_failed(call->verb, ret) && translate_lower(t)) {
		ret = dispatch_call(call->verb, args);
		err = errno;
	}
	if (verb_failed(call->verb, ret) && !call->failed && process_refused() != refused)
		return report_limit(r, event);
	outcome_count_call(r->outcome, call->verb);
	differ_check_result(r->outcome, event->id, call, ret, err);
	cut_failed_qp(r, call, args, ret);
	report_busy(r, call, ret);
	err = compare_outputs(r, event, args, ret);
	return err ? err : effect_note(r, event, args, ret);
}

/* Note a queue pair for raw packets without a flow rule: it receives nothing. */
static void note_no_flow(struct replay *r, const struct trace_event *event)
{
	const struct object *o;
	struct replica *replica;
	int64_t qp = 0;

	args_get(event->call->args, ARG(qp), &qp);
	o = trace_object_at(r->trace, event->process, OBJECT_qp, (uint64_t)qp, event->time);
	replica = o ? replica_of(r, o->id) : NULL;
	if (replica && replica->qp && replica->qp->type == IBV_QPT_RAW_PACKET)
		replica->qp->no_flow = true;
}

/* Leave the call out. @missing: the missing object that prevents it; 0: none, or not known. */
static void skip_call(struct replay *r, const struct trace_event *event, uint32_t missing,
		      const char *why)
{
	struct replica *replica = replica_of(r, event->call->object);

	outcome_note_skipped(r->outcome, event->id, event->call->verb,
			     missing ? missing : event->call->object, why);
	if (missing && verb_infos[event->call->verb].effect == EFFECT_CREATE)
		outcome_inherit_cause(r->outcome, event->call->object, missing);
	if (event->call->verb == VERB_bind_mw) /* completes like a request */
		map_put(&r->left_out, event_key(event->id), 1);
	if (event->call->verb == VERB_create_flow && !event->call->failed)
		note_no_flow(r, event);
	if (replica && !replica->handle && !replica->why &&
	    verb_infos[event->call->verb].effect == EFFECT_CREATE)
		effect_note_skipped(r, event->call, "its object was not created in the replay");
}

/* May a program pass NULL for argument @i? */
static bool is_optional(enum verb verb, const uint64_t *args, unsigned int i)
{
	const struct field_info *field = &verb_infos[verb].args.fields[i];

	if (verb == VERB_rereg_mr)
		return i; /* its protection domain, translate.c */
	if (verb == VERB_modify_qp && i)
		return !args[2];
	if ((int)i == verb_infos[verb].self)
		return false; /* for example a channel, which only creations may omit */
	return args_is(field, ARG(channel)) || args_is(field, ARG(input)) ||
	       args_is(field, ARG(grh));
}

/* A missing handle or structure that the verb requires means that the trace is damaged. */
static bool lacks_argument(enum verb verb, const uint64_t *args)
{
	const struct struct_info *info = &verb_infos[verb].args;

	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];
		bool given = field->kind == FIELD_OBJ ||
			     (field->kind == FIELD_PTR && field->dir & DIR_IN);

		if (given && !args[i] && !is_optional(verb, args, i))
			return true;
	}
	return false;
}

static int build_and_call(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	uint64_t args[16] = { 0 };
	struct translation t = { .r = r, .event = event, .time = call->begin, .args = args };
	struct args_build *build;
	size_t size;
	void *at = process_arguments(&size);
	int err = prepare_destroy(r, event);

	if (err)
		return err;
	build_lend(at, size);
	err = build_args(call->verb, call->args, translate_field, &t, args, &build);
	build_lend(NULL, 0);
	if (err)
		return err;
	if (!t.missing && !t.needless && lacks_argument(call->verb, args))
		t.missing = "some of its arguments are not in the trace";
	if (!t.missing)
		translate_call(&t, args);
	translate_check_used(&t);
	if (t.missing)
		skip_call(r, event, t.missing_object, t.missing);
	else if (t.needless)
		outcome_note_tolerated(r->outcome, t.needless);
	else
		err = repeat_call(&t, args);
	build_free(build);
	return err;
}

/*
 * Get the list of devices. The application frees its list; the replay's list remains, because
 * pointers to its devices are in use.
 */
static int list_devices(struct replay *r, const struct trace_event *event)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	outcome_count_call(r->outcome, event->call->verb);
	differ_check_result(r->outcome, event->id, event->call, (int64_t)(uintptr_t)list, errno);
	if (list)
		ibv_free_device_list(list);
	return 0;
}

static int free_devices(struct replay *r, const struct trace_event *event)
{
	outcome_count_call(r->outcome, event->call->verb);
	return 0;
}

static int (*const by_hand[VERB_COUNT])(struct replay *, const struct trace_event *) = {
	[VERB_get_device_list] = list_devices,     [VERB_free_device_list] = free_devices,
	[VERB_get_cq_event] = events_get_cq,       [VERB_ack_cq_events] = events_ack_cq,
	[VERB_get_async_event] = events_get_async, [VERB_ack_async_event] = events_ack_async,
};

/* Does it pass the descriptor -1? UCX does: the errno shows whether the kernel has DMA buffers. */
static bool passes_no_descriptor(const struct call *call)
{
	int64_t fd = 0;

	return call->verb == VERB_reg_dmabuf_mr && call->failed && !args_parse(call->args) &&
	       args_get(call->args, ARG(fd), &fd) && fd < 0;
}

/* Why the call is not replayed, or NULL. */
static const char *why_call_skipped(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct replica *replica = replica_of(r, call->object);
	const char *lacks = needs_lacks(r, event->id);

	if (call->end < 0)
		return "it never returned";
	if (lacks)
		return lacks;
	if (replica && replica->qp && replica->qp->cut &&
	    verb_infos[call->verb].effect != EFFECT_DESTROY)
		return replica->qp->cut;
	if (replica && verb_infos[call->verb].effect == EFFECT_DESTROY &&
	    translate_is_inherited(r, call->object, event->process))
		return "a forked process destroys objects of its parent: --processes replays that";
	if (verb_infos[call->verb].via == VIA_DV)
		return "functions of a provider are not called on another device";
	return passes_no_descriptor(call) ? NULL : left_out[call->verb];
}

/* Call the recorded verb, or an equivalent one if the installed library lacks it. */
static int call_as_recorded(struct replay *r, const struct trace_event *event)
{
	struct call plain = *event->call;
	struct trace_event again = *event;

	plain.verb = recorded_verb(event->call);
	again.call = &plain;
	return by_hand[plain.verb] ? by_hand[plain.verb](r, &again) : build_and_call(r, &again);
}

bool calls_is_replayed(const struct trace_event *event)
{
	const struct call *call = event->call;

	if (verb_infos[call->verb].via == VIA_CM)
		return cm_takes(event);
	if (event->inner || call->ours || call->depth)
		return false;
	return (event->kind == TRACE_RETURN) == (call->end >= 0 && is_done_at_return(call->verb));
}

int calls_replay(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	const char *why;
	char text[32];
	int err;

	if (!calls_is_replayed(event))
		return 0;
	if (verb_infos[call->verb].via == VIA_CM)
		return cm_replay(r, event);
	if (call->end < 0 && trace_meta(r->trace, "snapshot")) {
		outcome_note_tolerated(r->outcome, under_way);
		return 0;
	}
	if (call->end < 0 && verb_infos[call->verb].blocks) {
		outcome_note_tolerated(r->outcome, still_waiting);
		return 0;
	}
	why = why_call_skipped(r, event);
	if (why) {
		skip_call(r, event, 0, why);
		return 0;
	}
	if (needless[call->verb]) {
		outcome_note_tolerated(r->outcome, needless[call->verb]);
		return 0;
	}
	err = call_as_recorded(r, event);
	if (err >= 0 || err == -EFBIG) /* the latter was reported */
		return err < 0 ? err : 0;
	return log_err(err, "replay %s at %s", verb_infos[call->verb].name,
		       event_id_text(event->id, text));
}

/*
 * Replaying control verbs
 *
 * 	recorded JSON -> structures in memory -> translated -> called -> compared
 *
 * A verb is called at the time when it began, so that its object exists before anything uses it. A
 * verb that destroys or waits is called at the time when it returned: the event that it waited for
 * has happened by then.
 */
#include "replay/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/read/build.h"
#include "core/wire/log.h"
#include "replay/cm/cm.h"
#include "replay/state/cut.h"
#include "replay/report/differ.h"
#include "replay/device/builder.h"
#include "replay/device/dispatch.h"
#include "replay/events.h"
#include "replay/state/needs.h"
#include "replay/process/process.h"
#include "replay/data/faults.h"
#include "replay/data/full.h"
#include "replay/synth/synth.h"
#include "replay/state/recorded.h"
#include "replay/replica.h"
#include "replay/state/sent.h"
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

static bool at_return(enum verb verb)
{
	const struct verb_info *v = &verb_infos[verb];

	return v->effect == EFFECT_DESTROY || v->effect == EFFECT_GET || v->blocks;
}

/* The address from which offsets in a new region count. */
static int note_base(struct replica *replica, const struct call *call, const uint64_t *args)
{
	int64_t addr = 0, iova = 0, access = 0, length = 0;
	int err = args_parse(call->args);

	if (err)
		return err;
	args_get(call->args, ARG(addr), &addr);
	args_get(call->args, ARG(iova), &iova);
	args_get(call->args, ARG(access), &access);
	args_get(call->args, ARG(length), &length);
	if (call->verb != VERB_rereg_mr || (args[1] & IBV_REREG_MR_CHANGE_TRANSLATION))
		replica->implicit = memory_is_all((uint64_t)addr, (uint64_t)length);
	if (access & IBV_ACCESS_ZERO_BASED)
		return 0;
	if (call->verb == VERB_reg_mr) {
		replica->base_there = (uint64_t)addr;
		replica->base_here = args[1];
	} else if (call->verb == VERB_reg_mr_iova || call->verb == VERB_reg_mr_iova2) {
		replica->base_there = (uint64_t)iova;
		replica->base_here = args[3];
	} else if (call->verb == VERB_rereg_mr && (args[1] & IBV_REREG_MR_CHANGE_TRANSLATION)) {
		replica->base_there = (uint64_t)addr;
		replica->base_here = args[3];
	}
	return 0;
}

/*
 * The object that @call created. NULL if the trace is damaged: there is none, it has another kind,
 * or was created before.
 */
static struct replica *new_object(struct replay *r, const struct call *call)
{
	const struct object *o = trace_object(r->trace, call->object);
	struct replica *replica = replica_of(r, call->object);

	return replica && !replica->made && o->kind == verb_infos[call->verb].object ? replica
										     : NULL;
}

static void note_lacking(struct replay *r, const struct call *call, const char *why)
{
	struct replica *replica = replica_of(r, call->object);

	replica->why = why;
	if (!call->failed && verb_infos[call->verb].object == OBJECT_mr)
		r->nlacking++;
}

/* On an iWARP device librdmacm connects, within the kernel: the trace lacks the calls for it. */
static void cut_iwarp(struct replay *r, uint32_t id)
{
	static const char why[] =
		"queue pairs of an iWARP device are connected only by librdmacm, which is not "
		"replayed";

	if (!devices_was_iwarp(r->devices, recorded_device_name(r, id)) || cm_connects(r, id))
		return;
	cut_connection(r, id, 0, why);
	outcome_note(r->outcome, "%s", why);
}

static const char untagged[] = "tag matching lists are not replayed";

/*
 * Messages would be matched with other buffers, and a rendezvous is read from the address in its
 * data.
 */
static void cut_tags(struct replay *r, const struct call *call, const uint64_t *args)
{
	const struct ibv_srq_init_attr_ex *srq = (void *)(uintptr_t)args[1];
	struct replica *replica = replica_of(r, call->object), *shared;
	const struct ibv_qp *qp = replica->handle;
	uint64_t id;

	if (call->verb == VERB_create_srq_ex)
		replica->tags = srq && srq->comp_mask & IBV_SRQ_INIT_ATTR_TYPE &&
				srq->srq_type == IBV_SRQT_TM;
	if (verb_infos[call->verb].object != OBJECT_qp || !qp->srq ||
	    !map_get(&r->handles, (uintptr_t)qp->srq, &id))
		return;
	shared = replica_of(r, (uint32_t)id);
	if (shared->tags)
		cut_connection(r, call->object, (uint32_t)id, untagged);
}

static void note_flush(struct replay *r, const struct call *call, const uint64_t *args)
{
	const struct ibv_qp_init_attr_ex *attr = (void *)(uintptr_t)args[1];
	struct replica *replica = replica_of(r, call->object);

	if (call->verb == VERB_create_qp_ex && replica->qp)
		replica->qp->flushes = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
				       attr->send_ops_flags & BUILDER_WITH_FLUSH;
}

static void note_vectors(struct replica *replica, const struct call *call)
{
	int64_t vectors = 0;

	if (!args_parse(call->out) && args_get(call->out, ARG(ret.num_comp_vectors), &vectors) &&
	    vectors > 0 && vectors <= INT_MAX)
		replica->vectors_there = (int)vectors;
}

/* A creation, which may have succeeded or failed on either side. */
static int note_created(struct replay *r, const struct call *call, const uint64_t *args,
			int64_t ret)
{
	struct replica *replica = new_object(r, call);
	int err;

	if (ret && (call->failed || !replica)) {
		dispatch_undo(call->verb, ret);
		return 0;
	}
	if (!ret && replica)
		note_lacking(r, call, "its object could not be created in the replay");
	if (!ret || !replica)
		return 0;
	replica->extended = call->verb == VERB_create_cq_ex;
	if (call->verb == VERB_open_device)
		note_vectors(replica, call);
	err = replica_made(r, call->object, (void *)(uintptr_t)ret);
	if (!err)
		full_note_lengths(replica, call, args);
	if (!err && verb_infos[call->verb].object == OBJECT_mr)
		err = note_base(replica, call, args);
	if (!err && verb_infos[call->verb].object == OBJECT_qp)
		cut_iwarp(r, call->object);
	if (!err)
		cut_tags(r, call, args);
	if (!err)
		note_flush(r, call, args);
	return err;
}

static void note_queue_pair(struct replay *r, const struct call *call, const uint64_t *args)
{
	struct replica *replica = replica_of(r, call->object);
	const struct ibv_qp_attr *attr = (void *)(uintptr_t)args[1];

	if (!replica || !replica->qp || !attr)
		return;
	if (!(args[2] & IBV_QP_STATE) || attr->qp_state != IBV_QPS_RESET)
		return;
	synth_disconnect(r, call->object);
	for (int side = 0; side < SIDES; side++) {
		full_drop(&replica->qp->out[side]);
		requests_clear(&replica->qp->out[side]);
	}
	sent_settle(r, replica->qp);
	sent_settle_of(r, replica->qp);
	requests_clear(&replica->qp->sent);
	outcome_mended(r->outcome, call->object);
}

static int note_srq_number(struct replay *r, const struct call *call, const uint64_t *args)
{
	const uint32_t *here = (void *)(uintptr_t)args[1];
	int64_t there;

	if (!here || !args_get(call->out, ARG(srq_num), &there))
		return 0;
	return map_put(&r->srqns, (uint64_t)there, *here);
}

/* ibv_rereg_mr() may have changed a region's recorded and replayed keys. */
static int note_new_keys(struct replay *r, const struct call *call, const uint64_t *args)
{
	const struct object *o = trace_object(r->trace, call->object);
	struct replica *replica = replica_of(r, call->object);
	const struct ibv_mr *mr = (void *)(uintptr_t)args[0];
	int64_t lkey, rkey;

	if (!args_get(call->out, ARG(mr.lkey), &lkey) || !args_get(call->out, ARG(mr.rkey), &rkey))
		return 0;
	replica->number = mr->lkey;
	replica->rkey = mr->rkey;
	return map_put(&r->lkeys, process_key(o->process, (uint32_t)lkey), o->id)
		       ?: map_put(&r->rkeys, process_key(o->process, (uint32_t)rkey), o->id);
}

/* The object at address @handle in the replay; 0 if there is none. */
static uint32_t object_here(const struct replay *r, uint64_t handle)
{
	uint64_t id;

	return map_get(&r->handles, handle, &id) ? (uint32_t)id : 0;
}

/* Note the effect of a call on the replay's state. */
static int note_effect(struct replay *r, const struct trace_event *event, const uint64_t *args,
		       int64_t ret)
{
	const struct call *call = event->call;
	const struct verb_info *v = &verb_infos[call->verb];
	uint32_t gone;

	if (v->effect == EFFECT_CREATE)
		return note_created(r, call, args, ret);
	if (verb_failed(call->verb, ret)) {
		if (call->verb == VERB_destroy_cq && replica_of(r, call->object))
			replica_of(r, call->object)->half_gone = true;
		return 0;
	}
	gone = v->effect == EFFECT_DESTROY ? object_here(r, args[0]) : 0;
	if (gone && processes_are_used() && trace_object(r->trace, gone)->process != event->process)
		return 0; /* a forked process's copy of it */
	if (gone)
		replica_gone(r, gone);
	else if (call->verb == VERB_modify_qp)
		note_queue_pair(r, call, args);
	else if (call->verb == VERB_rereg_mr && replica_of(r, call->object))
		return note_new_keys(r, call, args)
			       ?: note_base(replica_of(r, call->object), call, args);
	else if (call->verb == VERB_get_srq_num)
		return note_srq_number(r, call, args);
	return 0;
}

static int compare_outputs(struct replay *r, const struct trace_event *event, const uint64_t *args,
			   int64_t ret)
{
	const struct call *call = event->call;
	char *json;
	int err;

	if (!call->out || call->failed || verb_failed(call->verb, ret))
		return 0;
	err = args_out_json(call->verb, args, ret, &json);
	if (err)
		return err;
	err = differ_outputs(r->outcome, event->id, call->verb, call->object, call->out, json);
	free(json);
	return err;
}

/* A queue pair that could not reach the recorded state is not replayed any more. */
static void cut_failed(struct replay *r, const struct call *call, const uint64_t *args, int64_t ret)
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
 * Make the preconditions of a destroy true: destroy objects whose destruction the trace lost, and
 * acknowledge all events. Before its arguments are translated, since objects are destroyed, and
 * other threads may destroy more.
 */
static int destroy_first(struct replay *r, const struct trace_event *event)
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
static void explain_busy(struct replay *r, const struct call *call, int64_t ret)
{
	const struct object *o = trace_object(r->trace, call->object);
	const struct replica *replica = replica_of(r, call->object);

	if (!o || verb_infos[call->verb].effect != EFFECT_DESTROY || call->failed ||
	    !verb_failed(call->verb, ret))
		return;
	outcome_related(r->outcome, o->id, o->parent);
	if (o->kind == OBJECT_cq && replica->handle)
		outcome_related(
			r->outcome, o->id,
			object_here(r, (uintptr_t)((struct ibv_cq *)replica->handle)->channel));
}

/* It failed because of this replay's memory limit, not because of one of the recorded device. */
static int report_limit(const struct replay *r, const struct trace_event *event)
{
	uint64_t max = r->options->max_memory;
	bool mib = max >> 20;
	char text[32];

	log_note("replay: %s at %s was not replayed, since its queue on the software device "
		 "exceeds --max-memory (%" PRIu64 " %s): increase the limit if you trust the "
		 "trace",
		 verb_infos[event->call->verb].name, event_id_text(event->id, text),
		 max >> (mib ? 20 : 10), mib ? "MiB" : "KiB");
	return -EFBIG;
}

static int call_again(struct translation *t, const uint64_t *args)
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
	outcome_called(r->outcome, call->verb);
	differ_result(r->outcome, event->id, call, ret, err);
	cut_failed(r, call, args, ret);
	explain_busy(r, call, ret);
	err = compare_outputs(r, event, args, ret);
	return err ? err : note_effect(r, event, args, ret);
}

/* A queue pair for raw packets receives only by flow rules. */
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

/* @missing: the missing object that prevents the call; 0: none, or not known. */
static void leave_out(struct replay *r, const struct trace_event *event, uint32_t missing,
		      const char *why)
{
	struct replica *replica = replica_of(r, event->call->object);

	outcome_skipped(r->outcome, event->id, event->call->verb,
			missing ? missing : event->call->object, why);
	if (missing && verb_infos[event->call->verb].effect == EFFECT_CREATE)
		outcome_inherit(r->outcome, event->call->object, missing);
	if (event->call->verb == VERB_bind_mw) /* completes like a request */
		map_put(&r->left_out, event_key(event->id), 1);
	if (event->call->verb == VERB_create_flow && !event->call->failed)
		note_no_flow(r, event);
	if (replica && !replica->handle && !replica->why &&
	    verb_infos[event->call->verb].effect == EFFECT_CREATE)
		note_lacking(r, event->call, "its object was not created in the replay");
}

/* May a program pass NULL for it? */
static bool is_optional(enum verb verb, const uint64_t *args, unsigned int i)
{
	const char *name = verb_infos[verb].args.fields[i].name;

	if (verb == VERB_rereg_mr)
		return i; /* its protection domain, translate.c */
	if (verb == VERB_modify_qp && i)
		return !args[2];
	if ((int)i == verb_infos[verb].self)
		return false; /* for example a channel, which only creations may omit */
	return !strcmp(name, "channel") || !strcmp(name, "input") || !strcmp(name, "grh");
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
	struct build *build;
	size_t size;
	void *at = process_arguments(&size);
	int err = destroy_first(r, event);

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
		leave_out(r, event, t.missing_object, t.missing);
	else if (t.needless)
		outcome_tolerated(r->outcome, t.needless);
	else
		err = call_again(&t, args);
	build_free(build);
	return err;
}

/*
 * The application frees its list; that of the replay remains, because pointers to its devices are
 * in use.
 */
static int list_devices(struct replay *r, const struct trace_event *event)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	outcome_called(r->outcome, event->call->verb);
	differ_result(r->outcome, event->id, event->call, (int64_t)(uintptr_t)list, errno);
	if (list)
		ibv_free_device_list(list);
	return 0;
}

static int free_devices(struct replay *r, const struct trace_event *event)
{
	outcome_called(r->outcome, event->call->verb);
	return 0;
}

static int (*const by_hand[VERB_COUNT])(struct replay *, const struct trace_event *) = {
	[VERB_get_device_list] = list_devices,     [VERB_free_device_list] = free_devices,
	[VERB_get_cq_event] = events_get_cq,       [VERB_ack_cq_events] = events_ack_cq,
	[VERB_get_async_event] = events_get_async, [VERB_ack_async_event] = events_ack_async,
};

/* A descriptor of -1 needs none: by the errno UCX tests whether the kernel has DMA buffers. */
static bool passes_no_descriptor(const struct call *call)
{
	int64_t fd = 0;

	return call->verb == VERB_reg_dmabuf_mr && call->failed && !args_parse(call->args) &&
	       args_get(call->args, ARG(fd), &fd) && fd < 0;
}

/* Why the call is not replayed, or NULL. */
static const char *why_not(struct replay *r, const struct trace_event *event)
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

/* A verb that not every library has is replaced by another one. */
static int call_as_recorded(struct replay *r, const struct trace_event *event)
{
	struct call plain = *event->call;
	struct trace_event again = *event;

	plain.verb = recorded_verb(event->call);
	again.call = &plain;
	return by_hand[plain.verb] ? by_hand[plain.verb](r, &again) : build_and_call(r, &again);
}

bool calls_takes(const struct trace_event *event)
{
	const struct call *call = event->call;

	if (verb_infos[call->verb].via == VIA_CM)
		return cm_takes(event);
	if (event->inner || call->ours || call->depth)
		return false;
	return (event->kind == TRACE_RETURN) == (call->end >= 0 && at_return(call->verb));
}

int calls_replay(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	const char *why;
	char text[32];
	int err;

	if (!calls_takes(event))
		return 0;
	if (verb_infos[call->verb].via == VIA_CM)
		return cm_replay(r, event);
	if (call->end < 0 && trace_meta(r->trace, "snapshot")) {
		outcome_tolerated(r->outcome, under_way);
		return 0;
	}
	if (call->end < 0 && verb_infos[call->verb].blocks) {
		outcome_tolerated(r->outcome, still_waiting);
		return 0;
	}
	why = why_not(r, event);
	if (why) {
		leave_out(r, event, 0, why);
		return 0;
	}
	if (needless[call->verb]) {
		outcome_tolerated(r->outcome, needless[call->verb]);
		return 0;
	}
	err = call_as_recorded(r, event);
	if (err >= 0 || err == -EFBIG) /* the latter was reported */
		return err < 0 ? err : 0;
	return log_err(err, "replay %s at %s", verb_infos[call->verb].name,
		       event_id_text(event->id, text));
}

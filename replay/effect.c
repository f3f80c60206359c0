/* The changes that a replayed call makes to the state of the replay */
#include "replay/effect.h"

#include <limits.h>

#include "replay/cm/cm.h"
#include "replay/state/cut.h"
#include "replay/device/builder.h"
#include "replay/device/dispatch.h"
#include "replay/process/process.h"
#include "replay/data/held_requests.h"
#include "replay/synth/synth.h"
#include "replay/state/recorded.h"
#include "replay/replica.h"
#include "replay/state/sent.h"
#include "replay/state/state.h"

/* Note the recorded and the replayed base address of the offsets in a new region. */
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
		replica->recorded_base = (uint64_t)addr;
		replica->replayed_base = args[1];
	} else if (call->verb == VERB_reg_mr_iova || call->verb == VERB_reg_mr_iova2) {
		replica->recorded_base = (uint64_t)iova;
		replica->replayed_base = args[3];
	} else if (call->verb == VERB_rereg_mr && (args[1] & IBV_REREG_MR_CHANGE_TRANSLATION)) {
		replica->recorded_base = (uint64_t)addr;
		replica->replayed_base = args[3];
	}
	return 0;
}

/*
 * The object that @call created. NULL if the trace is damaged: it has no such object, or one of
 * another kind, or one that was created before.
 */
static struct replica *new_object(struct replay *r, const struct call *call)
{
	const struct object *o = trace_object(r->trace, call->object);
	struct replica *replica = replica_of(r, call->object);

	return replica && !replica->made && o->kind == verb_infos[call->verb].object ? replica
										     : NULL;
}

void effect_note_skipped(struct replay *r, const struct call *call, const char *why)
{
	struct replica *replica = replica_of(r, call->object);

	replica->why = why;
	if (!call->failed && verb_infos[call->verb].object == OBJECT_mr)
		r->nlacking++;
}

/* Stop replaying an iWARP queue pair: the kernel connected it, so the trace lacks the calls. */
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
 * Do not replay queue pairs of an SRQ with tag matching: messages would be matched with other
 * buffers, and a rendezvous is read from the address in its data.
 */
static void cut_tag_matching(struct replay *r, const struct call *call, const uint64_t *args)
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

/* Note a creation, which may have succeeded or failed in the recording and in the replay. */
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
		effect_note_skipped(r, call, "its object could not be created in the replay");
	if (!ret || !replica)
		return 0;
	replica->extended = call->verb == VERB_create_cq_ex;
	if (call->verb == VERB_open_device)
		note_vectors(replica, call);
	err = replica_note_created(r, call->object, (void *)(uintptr_t)ret);
	if (!err)
		held_note_lengths(replica, call, args);
	if (!err && verb_infos[call->verb].object == OBJECT_mr)
		err = note_base(replica, call, args);
	if (!err && verb_infos[call->verb].object == OBJECT_qp)
		cut_iwarp(r, call->object);
	if (!err)
		cut_tag_matching(r, call, args);
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
		held_drop_all(&replica->qp->out[side]);
		requests_clear(&replica->qp->out[side]);
	}
	sent_remove_counted(r, replica->qp);
	sent_remove_counted_of(r, replica->qp);
	requests_clear(&replica->qp->sent);
	outcome_note_repair(r->outcome, call->object);
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

uint32_t effect_find_object(const struct replay *r, uint64_t handle)
{
	uint64_t id;

	return map_get(&r->handles, handle, &id) ? (uint32_t)id : 0;
}

int effect_note(struct replay *r, const struct trace_event *event, const uint64_t *args,
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
	gone = v->effect == EFFECT_DESTROY ? effect_find_object(r, args[0]) : 0;
	if (gone && processes_are_used() && trace_object(r->trace, gone)->process != event->process)
		return 0; /* only a forked process's copy */
	if (gone)
		replica_note_destroyed(r, gone);
	else if (call->verb == VERB_modify_qp)
		note_queue_pair(r, call, args);
	else if (call->verb == VERB_rereg_mr && replica_of(r, call->object))
		return note_new_keys(r, call, args)
			       ?: note_base(replica_of(r, call->object), call, args);
	else if (call->verb == VERB_get_srq_num)
		return note_srq_number(r, call, args);
	return 0;
}

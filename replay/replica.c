/*
 * The replayed objects of the trace
 *
 * An object is identified by its number in the trace, and never by its address. Keys and numbers
 * remain known after a destroy, because a program may still use them and be refused, and must be
 * refused in the replay, too.
 */
#include "replay/replica.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/device/dispatch.h"
#include "replay/events.h"
#include "replay/data/expect.h"
#include "replay/data/held_requests.h"
#include "replay/synth/synth.h"
#include "replay/state/state.h"

static int synth_mr(struct replay *r, uint32_t id, struct replica *replica)
{
	const struct object *o = trace_object(r->trace, id);
	struct ibv_mr *mr = replica->handle;

	replica->region = true;
	replica->number = mr->lkey;
	replica->rkey = mr->rkey;
	if (map_put(&r->lkeys, process_key(o->process, o->number), id))
		return -ENOMEM;
	return map_put(&r->rkeys, process_key(o->process, o->rkey), id);
}

static int synth_mw(struct replay *r, uint32_t id, struct replica *replica)
{
	const struct object *o = trace_object(r->trace, id);

	replica->rkey = ((struct ibv_mw *)replica->handle)->rkey;
	return map_put(&r->rkeys, process_key(o->process, o->number), id);
}

/* A failure of queue pair @id explains missing events of its CQ, and a full SRQ. */
static void relate_queue(struct replay *r, uint32_t id, const void *handle)
{
	uint64_t queue;

	if (handle && map_get(&r->handles, (uintptr_t)handle, &queue))
		outcome_relate_objects(r->outcome, id, (uint32_t)queue);
}

static int synth_qp(struct replay *r, uint32_t id, struct replica *replica)
{
	struct ibv_qp *qp = replica->handle;

	replica->qp = lines_alloc(1, sizeof(*replica->qp));
	if (!replica->qp)
		return -ENOMEM;
	replica->qp->type = qp->qp_type;
	replica->qp->port = 1;
	replica->qp->one_cq = qp->send_cq == qp->recv_cq;
	replica->qp->shared = qp->srq || qp->qp_type == IBV_QPT_XRC_RECV;
	replica->number = qp->qp_num;
	relate_queue(r, id, qp->send_cq);
	relate_queue(r, id, qp->recv_cq);
	relate_queue(r, id, qp->srq);
	return map_put(&r->numbers, qp->qp_num, id);
}

/* The context of an object: its first member, except for two kinds. */
static struct ibv_context *context_of(enum object_kind kind, void *handle)
{
	switch (kind) {
	case OBJECT_context:
		return handle;
	case OBJECT_flow:
		return ((struct ibv_flow *)handle)->context;
	default:
		return *(struct ibv_context **)handle;
	}
}

int replica_note_created(struct replay *r, uint32_t id, void *handle)
{
	struct replica *replica = replica_of(r, id);
	int err;

	if (!replica)
		return 0;
	replica->handle = handle;
	replica->context = context_of(trace_object(r->trace, id)->kind, handle);
	replica->made = true;
	r->made[r->nmade++] = id;
	err = map_put(&r->handles, (uintptr_t)handle, id);
	if (err)
		return err;
	switch (trace_object(r->trace, id)->kind) {
	case OBJECT_mr:
		return synth_mr(r, id, replica);
	case OBJECT_mw:
		return synth_mw(r, id, replica);
	case OBJECT_qp:
		return synth_qp(r, id, replica);
	case OBJECT_srq:
	case OBJECT_wq:
		replica->requests = calloc(1, sizeof(*replica->requests));
		return replica->requests ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static void forget_handle(struct replica *replica, const char *why)
{
	replica->handle = NULL;
	replica->why = why;
}

static void drop_held(struct replica *replica)
{
	if (replica->requests)
		held_drop_all(replica->requests);
	for (int side = 0; replica->qp && side < SIDES; side++)
		held_drop_all(&replica->qp->out[side]);
}

/*
 * Forget the objects of a destroyed context: all that were created from it, even if the trace has
 * another parent for them.
 */
static void forget_context(struct replay *r, const struct ibv_context *context)
{
	for (uint32_t i = 0; i < r->nmade; i++) {
		struct replica *replica = &r->replicas[r->made[i]];

		if (!replica->handle || replica->context != context)
			continue;
		synth_disconnect(r, r->made[i]);
		drop_held(replica);
		forget_handle(replica, "its context was closed before");
	}
}

void replica_note_destroyed(struct replay *r, uint32_t id)
{
	struct replica *replica = replica_of(r, id);

	if (!replica || !replica->handle)
		return;
	synth_disconnect(r, id);
	drop_held(replica);
	forget_handle(replica, "its object was destroyed before");
	if (trace_object(r->trace, id)->kind != OBJECT_context)
		return;
	events_drop_closed(r, id);
	forget_context(r, replica->context);
}

static const char ended[] = "its object's process had ended";

void replica_destroy(struct replay *r, uint32_t id)
{
	struct replica *replica = replica_of(r, id);
	int verb = dispatch_destroyer(trace_object(r->trace, id)->kind);
	uint64_t args[16] = { 0 };

	if (!replica->handle || verb < 0)
		return;
	events_before_destroy(r, id);
	args[0] = (uintptr_t)replica->handle;
	if (!args[0]) /* another thread has destroyed it during the wait */
		return;
	dispatch_call((enum verb)verb, args);
	replica_note_destroyed(r, id);
	replica->why = ended;
}

void replica_clear(struct replay *r, uint32_t process)
{
	for (uint32_t i = r->nmade; i-- > 0;) {
		uint32_t id = r->made[i];

		if (!process || trace_object(r->trace, id)->process == process)
			replica_destroy(r, id);
	}
}

void replica_leave(struct replay *r, uint32_t process)
{
	for (uint32_t i = r->nmade; i-- > 0;)
		if (trace_object(r->trace, r->made[i])->process == process)
			expect_leave(r, r->made[i]);
}

void replica_forget(struct replay *r, uint32_t process)
{
	for (uint32_t i = r->nmade; i-- > 0;) {
		struct replica *replica = &r->replicas[r->made[i]];

		if (!replica->handle || trace_object(r->trace, r->made[i])->process != process)
			continue;
		replica_note_destroyed(r, r->made[i]);
		replica->why = ended;
	}
}

void replica_fini(struct replay *r)
{
	for (uint32_t i = 0; r->replicas && i < r->nreplicas; i++) {
		struct replica *replica = &r->replicas[i];

		if (replica->qp) {
			expect_forget_late(replica->qp);
			requests_fini(&replica->qp->sent);
		}
		for (int side = 0; replica->qp && side < SIDES; side++) {
			held_drop_all(&replica->qp->out[side]);
			requests_fini(&replica->qp->out[side]);
			arrivals_fini(&replica->qp->in[side]);
			arrivals_fini(&replica->qp->passed[side]);
		}
		if (replica->requests) {
			held_drop_all(replica->requests);
			requests_fini(replica->requests);
		}
		free(replica->requests);
		free(replica->unsorted);
		free(replica->qp);
	}
	free(r->replicas);
	free(r->made);
}

/*
 * Objects of the trace as they are here
 *
 * An object is known by its number in the trace, and never by its address.
 * Keys and numbers stay known after a destroy, because a program may go on
 * using them and be refused, and shall be refused here, too.
 */
#include "replay/live.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/dispatch.h"
#include "replay/events.h"
#include "replay/state.h"

static int made_mr(struct replay *r, uint32_t id, struct live *live)
{
	const struct object *o = trace_object(r->trace, id);
	struct ibv_mr *mr = live->handle;

	live->number = mr->lkey;
	live->rkey = mr->rkey;
	if (map_put(&r->lkeys, process_key(o->process, o->number), id))
		return -ENOMEM;
	return map_put(&r->rkeys, process_key(o->process, o->rkey), id);
}

static int made_mw(struct replay *r, uint32_t id, struct live *live)
{
	const struct object *o = trace_object(r->trace, id);

	live->rkey = ((struct ibv_mw *)live->handle)->rkey;
	return map_put(&r->rkeys, process_key(o->process, o->number), id);
}

static int made_qp(struct replay *r, uint32_t id, struct live *live)
{
	struct ibv_qp *qp = live->handle;

	live->qp = calloc(1, sizeof(*live->qp));
	if (!live->qp)
		return -ENOMEM;
	live->qp->type = qp->qp_type;
	live->qp->port = 1;
	live->number = qp->qp_num;
	return map_put(&r->numbers, qp->qp_num, id);
}

int live_made(struct replay *r, uint32_t id, void *handle)
{
	struct live *live = live_of(r, id);
	int err;

	if (!live)
		return 0;
	live->handle = handle;
	live->made = true;
	r->made[r->nmade++] = id;
	err = map_put(&r->handles, (uintptr_t)handle, id);
	if (err)
		return err;
	switch (trace_object(r->trace, id)->kind) {
	case OBJECT_mr:
		return made_mr(r, id, live);
	case OBJECT_mw:
		return made_mw(r, id, live);
	case OBJECT_qp:
		return made_qp(r, id, live);
	case OBJECT_srq:
	case OBJECT_wq:
		live->requests = calloc(1, sizeof(*live->requests));
		return live->requests ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static void forget_handle(struct live *live, const char *why)
{
	live->handle = NULL;
	live->why = why;
}

static bool is_made_from(struct replay *r, uint32_t id, uint32_t from)
{
	const struct object *o = trace_object(r->trace, id);

	/* a damaged trace may have a circle, so no more steps than objects */
	for (uint32_t steps = 0; o && o->parent && steps < r->nlive; steps++) {
		if (o->parent == from)
			return true;
		o = trace_object(r->trace, o->parent);
	}
	return false;
}

void live_gone(struct replay *r, uint32_t id)
{
	struct live *live = live_of(r, id);

	if (!live)
		return;
	forget_handle(live, "its object was destroyed before");
	if (trace_object(r->trace, id)->kind != OBJECT_context)
		return;
	for (uint32_t i = 0; i < r->nmade; i++) /* what is left of it went with it */
		if (r->live[r->made[i]].handle && is_made_from(r, r->made[i], id))
			forget_handle(&r->live[r->made[i]], "its context was closed before");
}

static int find_destroyer(enum object_kind kind)
{
	for (int v = 0; v < VERB_COUNT; v++)
		if (verb_infos[v].effect == EFFECT_DESTROY && verb_infos[v].object == kind)
			return v;
	return -1;
}

static void destroy_object(struct replay *r, uint32_t id)
{
	struct live *live = live_of(r, id);
	int verb = find_destroyer(trace_object(r->trace, id)->kind);
	uint64_t args[16] = { (uintptr_t)live->handle };

	if (!live->handle || verb < 0)
		return;
	events_before_destroy(r, id);
	dispatch_call((enum verb)verb, args);
	live_gone(r, id);
	live->why = "its object's process had ended";
}

void live_clear(struct replay *r, uint32_t process)
{
	for (uint32_t i = r->nmade; i-- > 0;) {
		uint32_t id = r->made[i];

		if (!process || trace_object(r->trace, id)->process == process)
			destroy_object(r, id);
	}
}

void live_fini(struct replay *r)
{
	for (uint32_t i = 0; r->live && i < r->nlive; i++) {
		struct live *live = &r->live[i];

		if (live->qp)
			requests_fini(&live->qp->sent);
		for (int side = 0; live->qp && side < SIDES; side++) {
			requests_fini(&live->qp->out[side]);
			arrivals_fini(&live->qp->in[side]);
		}
		if (live->requests)
			requests_fini(live->requests);
		free(live->requests);
		free(live->qp);
	}
	free(r->live);
	free(r->made);
}

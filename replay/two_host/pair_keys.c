/*
 * Keys of two halves: of regions and windows on one host, used by requests of the other
 *
 *	a region that is registered       sends its key
 *	a bind, a local invalidation,     waits until the requests are complete that named the
 *	the end of a window or region     key that it had
 *	a bind                            sends the new key
 *	an invalidation, the end          sends that the key is closed
 *
 * Windows of type 2 are bound by requests (BIND_MW), those of type 1 by a call (ibv_bind_mw). All
 * keys are recorded ones, but for the replayed one that belongs to each. A key that comes more than
 * once in the trace is not waited for, since the other half has only its last use.
 */
#include "replay/two_host/pair_priv.h"

bool pair_has_finished(const struct pair *p, uint64_t other, uint64_t n)
{
	return p->there[other].done >= n || p->there[other].gone;
}

/* Are there later regions of that key in the process? Then the region of a request is ambiguous. */
static bool is_key_reused(const struct pair *p, const struct object *mr)
{
	const struct object *o;

	for (uint32_t i = mr->id + 1; (o = trace_object(p->r->trace, i)); i++)
		if (o->kind == OBJECT_mr && o->process == mr->process && o->rkey == mr->rkey)
			return true;
	return false;
}

static void await_key_unused(struct pair *p, uint32_t process, uint32_t rkey)
{
	for (size_t i = 0; i < p->its.nuses; i++) {
		const struct pair_use *use = &p->its.uses[i];
		uint32_t mine = p->of_its[use->life];

		if (use->rkey == rkey && mine && p->mine.lives[mine - 1].process == process)
			pair_await(p, pair_has_finished, use->life, use->last,
				   p->r->options->timeout);
	}
}

void pair_await_unused(struct pair *p, uint32_t object)
{
	const struct object *mr = trace_object(p->r->trace, object);

	if (mr && mr->kind == OBJECT_mr && !is_key_reused(p, mr))
		await_key_unused(p, mr->process, mr->rkey);
}

void pair_send_key(struct pair *p, uint32_t object)
{
	const struct object *o = trace_object(p->r->trace, object);
	const struct replica *mr = replica_of(p->r, object);

	if (mr && mr->handle)
		pair_send(p, PAIR_KEY,
			  (uint64_t[]){ o->process, o->rkey, mr->rkey, mr->recorded_base,
					mr->replayed_base },
			  5);
}

void pair_send_new_key(struct pair *p, const struct call *call)
{
	const struct object *o = trace_object(p->r->trace, call->object);
	const struct replica *mr = replica_of(p->r, call->object);
	int64_t rkey;

	if (mr && mr->handle && !args_parse(call->out) && args_get(call->out, ARG(mr.rkey), &rkey))
		pair_send(p, PAIR_KEY,
			  (uint64_t[]){ o->process, (uint32_t)rkey, mr->rkey, mr->recorded_base,
					mr->replayed_base },
			  5);
}

/* A window, before and after an event: its recorded key, 0 if it has none, and its region. */
struct change {
	uint32_t process;
	const struct object *mw; /* NULL: a key is invalidated, and its window is not looked up */
	uint32_t key;
	const struct object *mr;
};

static struct change bind_of_request(const struct pair *p, const struct trace_event *event,
				     const struct wr *wr)
{
	struct change change = { .process = event->process, .key = wr->bind_rkey };

	change.mw =
		trace_object_at(p->r->trace, event->process, OBJECT_mw, wr->bind_mw, event->time);
	if (wr->bind_mr)
		change.mr = trace_object_at(p->r->trace, event->process, OBJECT_mr, wr->bind_mr,
					    event->time);
	return change;
}

static struct change bind_of_call(const struct pair *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct change change = { .process = event->process };
	int64_t key, mr;

	change.mw = trace_object(p->r->trace, call->object);
	if (!args_parse(call->out) && args_get(call->out, ARG(mw.rkey), &key))
		change.key = (uint32_t)key;
	if (!args_parse(call->args) && args_get(call->args, ARG(mw_bind.bind_info.mr), &mr))
		change.mr = trace_object_at(p->r->trace, event->process, OBJECT_mr, (uint64_t)mr,
					    event->time);
	return change;
}

static uint64_t key_of_window(const struct pair *p, const struct change *change)
{
	uint64_t key = 0;

	map_get(&p->bound, change->mw->id, &key);
	return key;
}

static void await_change(struct pair *p, const struct change *change)
{
	uint64_t key = change->mw ? key_of_window(p, change) : change->key, binds = 0;

	if (!key)
		return;
	map_get(&p->binds, process_key(change->process, (uint32_t)key), &binds);
	if (binds <= 1)
		await_key_unused(p, change->process, (uint32_t)key);
}

static void send_closed(struct pair *p, uint32_t process, uint64_t key)
{
	if (key)
		pair_send(p, PAIR_CLOSED, (uint64_t[]){ process, key }, 2);
}

static void send_change(struct pair *p, const struct change *change)
{
	const struct replica *window = change->mw ? replica_of(p->r, change->mw->id) : NULL;
	const struct replica *region = change->mr ? replica_of(p->r, change->mr->id) : NULL;

	if (!change->mw) {
		send_closed(p, change->process, change->key);
		return;
	}
	if (!change->mr || key_of_window(p, change) != change->key)
		send_closed(p, change->process, key_of_window(p, change));
	map_put(&p->bound, change->mw->id, change->mr ? change->key : 0);
	if (region && region->handle && window && window->handle)
		pair_send(p, PAIR_KEY,
			  (uint64_t[]){ change->process, change->key,
					((struct ibv_mw *)window->handle)->rkey,
					region->recorded_base, region->replayed_base },
			  5);
}

/* Call @what for each window that @event changes. */
static void each_change(struct pair *p, const struct trace_event *event,
			void (*what)(struct pair *p, const struct change *change))
{
	const struct post *post = event->kind == TRACE_POST ? event->post : NULL;
	struct change change = { .process = event->process };

	for (uint32_t i = 0; post && post_is_send(post) && i < post_taken(post); i++) {
		if (post->wr[i].opcode == IBV_WR_BIND_MW)
			change = bind_of_request(p, event, &post->wr[i]);
		else if (post->wr[i].opcode == IBV_WR_LOCAL_INV)
			change = (struct change){ .process = event->process,
						  .key = post->wr[i].imm };
		else
			continue;
		what(p, &change);
	}
	if (event->kind == TRACE_CALL && event->call->verb == VERB_bind_mw)
		change = bind_of_call(p, event);
	else if (event->kind == TRACE_RETURN && event->call->verb == VERB_dealloc_mw)
		change.mw = trace_object(p->r->trace, event->call->object);
	if (!post && change.mw)
		what(p, &change);
}

void pair_await_windows(struct pair *p, const struct trace_event *event)
{
	each_change(p, event, await_change);
}

void pair_send_windows(struct pair *p, const struct trace_event *event)
{
	each_change(p, event, send_change);
}

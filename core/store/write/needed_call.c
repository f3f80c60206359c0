/*
 * The effect of a control verb on the objects, and how long it is needed
 *
 *	creates an object     as long as the object is alive
 *	changes an object     until a later call changes the same: has_key_of_args() lists the
 *	                      verbs whose arguments determine what "the same" is
 *	queries a device      source of the tables of devices: the last answer
 *	anything else         not at all: events, other queries, failed calls
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/store/chunk/abi.h"
#include "core/store/db/args.h"
#include "core/store/write/needed_priv.h"

/* Does the verb change different things with different arguments? */
static bool has_key_of_args(enum verb verb)
{
	switch (verb) {
	case VERB_dontfork_range:
	case VERB_attach_mcast:
	case VERB_attach_counters_point_flow:
	case VERB_qp_attach_comp_cntr:
	case VERB_rdma_join_multicast:
	case VERB_rdma_join_multicast_ex:
	case VERB_rdma_leave_multicast:
	case VERB_rdma_set_option:
		return true;
	default:
		return false;
	}
}

/* Pairs of verbs: with the same arguments, @undo undoes @done. */
static const struct {
	enum verb undo, done;
} undoes[] = {
	{ VERB_dofork_range, VERB_dontfork_range },
	{ VERB_detach_mcast, VERB_attach_mcast },
};

/* Does the verb query the state of a device, a queue pair or a connection? */
static bool is_state_query(enum verb verb)
{
	switch (verb) {
	case VERB_query_device:
	case VERB_query_device_ex:
	case VERB_query_port:
	case VERB_query_port_compat:
	case VERB_query_gid:
	case VERB_query_gid_ex:
	case VERB_query_gid_table:
	case VERB_query_pkey:
	case VERB_get_pkey_index:
	case VERB_qp_to_qp_ex:
	case VERB_query_ece:
	case VERB_rdma_get_src_port:
	case VERB_rdma_get_dst_port:
	case VERB_rdma_get_remote_ece:
		return true;
	default:
		return false;
	}
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

static struct args *read_json(const char *json)
{
	return json ? args_new(json, strlen(json)) : NULL;
}

static struct held_call make_held_call(const struct needed_call *call, uint64_t key)
{
	return (struct held_call){
		.id = call->id,
		.stack = call->stack,
		.verb = call->verb,
		.key = key,
		.begin = call->begin,
	};
}

static int hold_call(struct needed *needed, struct needed_entry *entry,
		     const struct needed_call *call, uint64_t key)
{
	struct held_call held = make_held_call(call, key);

	return needed_hold_call(needed, entry, &held, call->end);
}

/* Creating and destroying objects */

/*
 * Did a library create the object inside @outer? Then @outer counts as its creation: lifetimes.c.
 */
static bool is_created_inside(const struct needed_entry *entry, const struct needed_call *outer)
{
	return entry->made.thread == outer->id.thread && entry->made.n > outer->id.n &&
	       entry->end_n < outer->end_n;
}

static int make_object(struct needed *needed, const struct needed_call *call, int kind,
		       uint64_t handle, struct needed_entry *parent)
{
	struct needed_entry *entry = needed_find(needed, call->process, kind, handle);

	if (entry && is_created_inside(entry, call) && !entry->counted) {
		entry->made = call->id;
		entry->end_n = call->end_n;
		entry->made_at = call->end;
	} else {
		if (entry && entry->made_at > call->end)
			return 0; /* destroyed already: a later object has its address */
		if (entry)
			needed_end_object(needed, entry, call->end);
		entry = needed_add_object(needed, call, kind, handle, parent);
	}
	return entry ? hold_call(needed, entry, call, 0) : -ENOMEM;
}

static struct needed_entry *parent_of(const struct needed *needed, const struct needed_call *call)
{
	return call->parent
		       ? needed_find(needed, call->process, (int)call->parent_kind, call->parent)
		       : NULL;
}

static int end_object(struct needed *needed, const struct needed_call *call, int kind)
{
	struct needed_entry *entry = needed_find(needed, call->process, kind, call->handle);
	int err;

	if (!entry || entry->made_at > call->begin)
		return 0;
	err = hold_call(needed, entry, call, 0);
	/* at its end, since the call may return after a cut */
	needed_end_object(needed, entry, call->end);
	return err;
}

/* Note a device of a list. A list has all devices, and creates those that are new. */
static int note_listed_device(struct needed *needed, const struct needed_call *call,
			      uint64_t handle)
{
	struct needed_entry *entry = needed_find(needed, call->process, OBJECT_device, handle);
	int err = entry ? 0 : make_object(needed, call, OBJECT_device, handle, NULL);

	entry = err ? NULL : needed_find(needed, call->process, OBJECT_device, handle);
	if (!entry)
		return err;
	entry->listed = true;
	if (entry->made.thread == call->id.thread && entry->made.n == call->id.n)
		entry->list = (uint64_t)call->ret;
	return 0;
}

/* Note the release of a device list: if the list is needed, its release is needed as well. */
static int free_list(struct needed *needed, const struct needed_call *call)
{
	const struct needed_entry *process = needed_find(needed, call->process, KIND_PROCESS, 0);
	struct args *in = read_json(call->args);
	int64_t list = 0;
	int err = 0;

	args_get(in, ARG(list), &list);
	args_unref(in);
	for (struct needed_entry *entry = process ? process->children : NULL; entry && list && !err;
	     entry = entry->sibling)
		if (entry->kind == OBJECT_device && entry->list == (uint64_t)list) {
			entry->list = 0;
			err = hold_call(needed, entry, call, 0);
		}
	return err;
}

static int list_devices(struct needed *needed, const struct needed_call *call)
{
	struct needed_entry *process = needed_add_process(needed, call->process), *next;
	struct args *out = read_json(call->out);
	int64_t handle;
	int err = process ? 0 : -ENOMEM;

	for (struct needed_entry *entry = err ? NULL : process->children; entry;
	     entry = entry->sibling)
		entry->listed = false;
	for (unsigned int i = 0; !err; i++) {
		if (!args_get_at(out, ARG(ret.handle), i, &handle))
			break;
		err = note_listed_device(needed, call, (uint64_t)handle);
	}
	for (struct needed_entry *entry = err ? NULL : process->children; entry; entry = next) {
		next = entry->sibling;
		if (entry->kind == OBJECT_device && !entry->listed && !entry->children)
			needed_end_object(needed, entry, call->end);
	}
	args_unref(out);
	return err;
}

/* Queue pairs */

enum { CYCLE_MOST = 8 }; /* maximum calls from a state back to the same state */

/* The index of the last call before @end after which the queue pair was in @state; -1: none. */
static int find_state(const struct needed_entry *qp, int end, int state)
{
	for (int i = end - 1; i >= 0; i--)
		if (qp->calls[i].verb == VERB_modify_qp && qp->calls[i].state == state)
			return i;
	return -1;
}

/* Do the calls after @a up to @b change the same as the calls after @b up to the last one? */
static bool is_same_cycle(const struct needed_entry *qp, int a, int b)
{
	int x = a + 1, y = b + 1, end = (int)qp->ncalls;

	for (;;) {
		while (x <= b && qp->calls[x].verb != VERB_modify_qp)
			x++;
		while (y < end && qp->calls[y].verb != VERB_modify_qp)
			y++;
		if (x > b || y >= end)
			return x > b && y >= end;
		if (qp->calls[x++].key != qp->calls[y++].key)
			return false;
	}
}

/* If a queue pair has gone through the same cycle of states twice, drop the calls of one cycle. */
static int drop_state_cycle(struct needed *needed, struct needed_entry *qp, int64_t time)
{
	int last = (int)qp->ncalls - 1, state = qp->calls[last].state;
	int b = find_state(qp, last, state), a = b < 0 ? -1 : find_state(qp, b, state);
	int err = 0;

	if (a < 0 || b - a > CYCLE_MOST || !is_same_cycle(qp, a, b))
		return 0;
	for (int i = b; i > a && !err; i--)
		if (qp->calls[i].verb == VERB_modify_qp)
			err = needed_release(needed, qp, (size_t)i, time);
	return err;
}

static int state_of(const struct needed_entry *qp)
{
	for (size_t i = qp->ncalls; i > 0; i--)
		if (qp->calls[i - 1].verb == VERB_modify_qp)
			return qp->calls[i - 1].state;
	return ABI_QPS_RESET;
}

/* Drop the calls since the creation of a queue pair, which is in RESET again. */
static int reset_qp(struct needed *needed, struct needed_entry *qp, int64_t time)
{
	int err = 0;

	for (size_t i = qp->ncalls; i > 0 && !err; i--)
		if (qp->calls[i - 1].verb == VERB_modify_qp)
			err = needed_release(needed, qp, i - 1, time);
	return err;
}

static int modify_qp(struct needed *needed, struct needed_entry *qp, const struct needed_call *call)
{
	struct args *in = read_json(call->args);
	int64_t mask = 0, state = state_of(qp);
	struct held_call held;
	int err;

	args_get(in, ARG(attr_mask), &mask);
	args_get(in, ARG(attr.qp_state), &state);
	args_unref(in);
	held = make_held_call(call, (uint64_t)mask << 8 | (uint64_t)(state & 0xff));
	held.state = (int)state;
	if (state == ABI_QPS_RESET) {
		err = reset_qp(needed, qp, call->end);
		return err ? err : needed_hold_call(needed, qp, &held, call->end);
	}
	err = needed_append(needed, qp, &held, call->end);
	return err ? err : drop_state_cycle(needed, qp, call->end);
}

/* Other verbs */

static int undo_call(struct needed *needed, struct needed_entry *entry,
		     const struct needed_call *call, enum verb done)
{
	uint64_t key = hash_text(call->args);

	for (size_t i = 0; i < entry->ncalls; i++)
		if (entry->calls[i].verb == done && entry->calls[i].key == key)
			return needed_release(needed, entry, i, call->end);
	return 0;
}

static int change_object(struct needed *needed, struct needed_entry *entry,
			 const struct needed_call *call)
{
	uint64_t key = 0;
	struct args *in;
	int64_t flags;

	for (size_t i = 0; i < sizeof(undoes) / sizeof(*undoes); i++)
		if (undoes[i].undo == call->verb)
			return undo_call(needed, entry, call, undoes[i].done);
	if (call->verb == VERB_modify_qp)
		return modify_qp(needed, entry, call);
	if (has_key_of_args(call->verb) || is_state_query(call->verb))
		key = hash_text(call->args);
	if (call->verb == VERB_rereg_mr) {
		in = read_json(call->args);
		key = args_get(in, ARG(flags), &flags) ? (uint64_t)flags : 0;
		args_unref(in);
	}
	return hold_call(needed, entry, call, key);
}

/* Process an event of the connection manager: a connection request creates an identifier. */
static int take_cm_event(struct needed *needed, const struct needed_call *call, bool ack)
{
	struct args *args = read_json(ack ? call->args : call->out);
	const char *type = args && !args_parse(args) ? args_text(args, ARG(event.event)) : NULL;
	struct needed_entry *entry;
	int64_t id = 0;
	int err = 0;

	if (!type || !args_get(args, ARG(event.id), &id)) {
		args_unref(args);
		return 0;
	}
	if (!ack && !strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST"))
		err = make_object(
			needed, call, OBJECT_cm_id, (uint64_t)id,
			needed_find(needed, call->process, OBJECT_cm_channel, call->handle));
	entry = needed_find(needed, call->process, OBJECT_cm_id, (uint64_t)id);
	if (!err && entry &&
	    !(entry->made.n == call->id.n && entry->made.thread == call->id.thread))
		err = hold_call(needed, entry, call, hash_text(type));
	args_unref(args);
	return err;
}

static bool is_for_process(enum verb verb)
{
	return verb == VERB_fork_init || verb == VERB_dontfork_range || verb == VERB_dofork_range;
}

int needed_call(struct needed *needed, const struct needed_call *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	struct needed_entry *entry;

	if (call->verb == VERB_get_device_list)
		return list_devices(needed, call);
	if (call->verb == VERB_free_device_list)
		return free_list(needed, call);
	if (call->verb == VERB_rdma_get_cm_event || call->verb == VERB_rdma_ack_cm_event)
		return take_cm_event(needed, call, call->verb == VERB_rdma_ack_cm_event);
	if (verb->effect == EFFECT_CREATE)
		return call->handle ? make_object(needed, call, verb->object, call->handle,
						  parent_of(needed, call))
				    : 0;
	if (verb->effect == EFFECT_DESTROY)
		return end_object(needed, call, verb->object);
	if (verb->effect != EFFECT_USE && !is_state_query(call->verb))
		return 0;
	if (is_for_process(call->verb))
		entry = needed_add_process(needed, call->process);
	else
		entry = call->handle ? needed_find_inherited(needed, call->process, verb->object,
							     call->handle)
				     : NULL;
	return entry ? change_object(needed, entry, call) : 0;
}

/*
 * Control verbs, as keys see them
 *
 * Includes verbs that a library calls inside another verb: their keys are valid, too. A region that
 * both an outer and an inner verb return has one key.
 *
 * From the begin of ibv_dereg_mr() and ibv_rereg_mr() to their return the state of a key is
 * unknown. After a failed ibv_rereg_mr() the region may have any state.
 */
#include "analyzer/model/key_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/steady.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/pinned.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/read_release.h"
#include "analyzer/model/window.h"
#include "core/wire/log.h"

/* enum ibv_rereg_mr_err_code */
enum { ERR_INPUT = -1, ERR_DONT_FORK_NEW = -2 };

enum { ENDLESS = 1ull << 62 }; /* longer than any memory: an implicit region */

static uint64_t read_number(const struct args *args, enum arg arg, uint64_t otherwise)
{
	int64_t value;

	return args && args_get(args, arg, &value) ? (uint64_t)value : otherwise;
}

/* The protection domain below a parent domain. */
static uint64_t base_pd(struct model *model, uint32_t process, uint64_t handle)
{
	const struct life *pd = model_find(model, process, OBJECT_pd, handle);

	return pd && pd->pd ? pd->pd : handle;
}

void keys_note_parents(struct model *model, struct life *life, const struct call *call)
{
	uint64_t pd = read_number(call->out, ARG(ret.pd), read_number(call->args, ARG(pd), 0));

	life->context = read_number(call->out, ARG(ret.context), 0);
	if (call->verb == VERB_alloc_parent_domain)
		pd = read_number(call->args, ARG(attr.pd), 0);
	life->pd = pd                        ? base_pd(model, life->process, pd)
		   : life->kind == OBJECT_pd ? life->handle
					     : 0;
	if (call->verb == VERB_import_device || call->verb == VERB_import_pd)
		model->keys.shared = true;
}

/* Set the range that requests may use, depending on the verb that created the region. */
static void set_range(struct key *key, const struct call *call)
{
	const struct args *args = call->args;
	uint64_t addr = read_number(args, ARG(addr), read_number(call->out, ARG(ret.addr), 0));

	key->length = read_number(args, ARG(length), read_number(call->out, ARG(ret.length), 0));
	key->access = (uint32_t)read_number(args, ARG(access), ~0u);
	key->memory = key->addr = addr;
	switch (call->verb) {
	case VERB_reg_mr:
		break;
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
		key->addr = read_number(args, ARG(iova), addr);
		break;
	case VERB_reg_dmabuf_mr:
	case VERB_mlx5dv_reg_dmabuf_mr:
		key->memory = key->addr = read_number(args, ARG(iova), 0);
		break;
	case VERB_reg_dm_mr:
		key->any = !(key->access & ABI_ACCESS_ZERO_BASED);
		break;
	default:
		/* a null region, an imported region, or a region of an unknown verb */
		key->any = true;
	}
	if (key->access & ABI_ACCESS_ZERO_BASED)
		key->addr = 0;
	if (!args || key->length >= ENDLESS)
		key->any = true;
}

/* For a window only the number and the protection domain are checked. */
static void allow_any_range(struct key *key)
{
	key->any = true;
	key->access = ~0u;
}

static int add_region_key(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct key *key = keys_new(&model->keys);

	if (!key)
		return -ENOMEM;
	key->kind = verb_infos[call->verb].object;
	key->process = event->process;
	key->object = call->object;
	key->handle = call->handle;
	key->lkey = (uint32_t)read_number(call->out, ARG(ret.lkey), 0);
	key->rkey = (uint32_t)read_number(call->out, ARG(ret.rkey), 0);
	key->context = read_number(call->out, ARG(ret.context), 0);
	key->pd = base_pd(model, event->process,
			  read_number(call->out, ARG(ret.pd), read_number(call->args, ARG(pd), 0)));
	key->created = moment_of(event);
	if (key->kind == OBJECT_mr)
		set_range(key, call);
	else
		allow_any_range(key);
	model->keys.shared |= call->verb == VERB_import_mr;
	return keys_add(&model->keys, key);
}

static struct key *key_of_call(struct model *model, const struct trace_event *event,
			       enum object_kind kind)
{
	struct key *key = keys_find_object(&model->keys, event->process, kind, event->call->handle);

	return key && key->state != KEY_DEAD ? key : NULL;
}

/* After ibv_rereg_mr() the region is known only if it succeeded, or failed without a change. */
static int change_region_key(struct model *model, const struct trace_event *event)
{
	struct key *key = key_of_call(model, event, OBJECT_mr);
	const struct call *call = event->call;
	uint64_t flags = read_number(call->args, ARG(flags), 0);

	if (!key)
		return 0;
	if (call->failed && (call->ret == ERR_INPUT || call->ret == ERR_DONT_FORK_NEW)) {
		key->state = KEY_LIVE;
		return 0;
	}
	if (call->failed || !call->args || !call->out)
		return 0;
	key->state = KEY_LIVE;
	key->released = (struct moment){ 0 };
	key->unmapped = false;
	key->lkey_before = key->lkey;
	key->rkey_before = key->rkey;
	key->changed = moment_of(event);
	if (flags & ABI_REREG_MR_CHANGE_ACCESS)
		key->access = (uint32_t)read_number(call->args, ARG(access), ~0u);
	if (flags & ABI_REREG_MR_CHANGE_TRANSLATION) {
		key->memory = read_number(call->args, ARG(addr), 0);
		key->addr = key->access & ABI_ACCESS_ZERO_BASED ? 0 : key->memory;
		key->length = read_number(call->args, ARG(length), 0);
		key->any = key->length >= ENDLESS;
	}
	if (flags & ABI_REREG_MR_CHANGE_PD)
		key->pd = base_pd(model, event->process, read_number(call->args, ARG(pd), 0));
	return keys_rename(&model->keys, key,
			   (uint32_t)read_number(call->out, ARG(mr.lkey), key->lkey),
			   (uint32_t)read_number(call->out, ARG(mr.rkey), key->rkey));
}

/* The bind takes effect with its completion; the key is set without waiting for that. */
static int bind_window_key(struct model *model, const struct trace_event *event)
{
	struct key *key = key_of_call(model, event, OBJECT_mw);
	const struct call *call = event->call;
	struct key_bind bind = {
		.at = moment_of(event),
		.qp = read_number(call->args, ARG(qp), 0),
		.mr = read_number(call->args, ARG(mw_bind.bind_info.mr), 0),
		.addr = read_number(call->args, ARG(mw_bind.bind_info.addr), 0),
		.access = (uint32_t)read_number(call->args, ARG(mw_bind.bind_info.mw_access_flags),
						0),
	};

	if (!key || call->failed)
		return 0;
	bind.length = read_number(call->args, ARG(mw_bind.bind_info.length), 1);
	bind.ends = !bind.length;
	return window_bind(&model->keys, key, &bind,
			   (uint32_t)read_number(call->out, ARG(mw.rkey), key->rkey));
}

static void end_context_keys(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct moment moment = moment_of(event);
	struct key *key = model->keys.live.oldest, *next;

	for (; key; key = next) {
		next = key->newer;
		if (key->process == event->process && key->context == call->handle)
			keys_mark_dead(&model->keys, key, &moment);
	}
}

static void end_argument_key(struct model *model, const struct trace_event *event,
			     enum object_kind kind)
{
	struct key *key = key_of_call(model, event, kind);
	struct moment moment = moment_of(event);

	if (!key)
		return;
	key->state = KEY_LIVE;
	if (!event->call->failed)
		keys_mark_dead(&model->keys, key, &moment);
}

int keys_process_call(struct model *model, const struct trace_event *event)
{
	const struct verb_info *info = &verb_infos[event->call->verb];
	bool ends = info->effect == EFFECT_DESTROY;
	struct key *key;

	if ((info->object != OBJECT_mr && info->object != OBJECT_mw) ||
	    (!ends && event->call->verb != VERB_rereg_mr))
		return 0;
	key = key_of_call(model, event, info->object);
	if (!key)
		return 0;
	if (ends && model->reads)
		read_release_note_dereg(model, event, key);
	key->state = KEY_CHANGING;
	model->keys.changes++;
	return 0;
}

static int read_return(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct verb_info *info = &verb_infos[call->verb];

	if (info->effect == EFFECT_DESTROY)
		end_argument_key(model, event, info->object);
	else if (info->effect == EFFECT_CREATE && !call->failed && call->handle)
		return add_region_key(model, event);
	else if (call->verb == VERB_rereg_mr)
		return change_region_key(model, event);
	else if (call->verb == VERB_bind_mw)
		return bind_window_key(model, event);
	return 0;
}

int keys_process_return(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum object_kind kind = verb_infos[call->verb].object;
	int err;

	if (call->verb == VERB_close_device && !call->failed)
		end_context_keys(model, event);
	if (kind != OBJECT_mr && kind != OBJECT_mw)
		return 0;
	err = args_parse(call->args) ?: args_parse(call->out) ?: read_return(model, event);
	return err < 0 ? log_err(err, "keys of memory") : 0;
}

static bool is_one_of(const char *what, const char *a, const char *b)
{
	return !strcmp(what, a) || !strcmp(what, b);
}

/* Does no outstanding request use the region? (Else MKEY-006 reports it at once.) */
static bool is_idle(const struct model *model, const struct life *region)
{
	return region && !queues_find_users(model, region).n;
}

/* Moved memory stays the same memory, and discarded memory stays mapped. */
void keys_note_release(struct model *model, const struct trace_event *event)
{
	const struct memory_event *memory = event->memory;
	const struct steady *steady = steady_of(model, event->process);
	bool unmapped = memory->what && is_one_of(memory->what, "munmap", "mmap");

	if (!unmapped && (!memory->what || !is_one_of(memory->what, "free", "realloc")))
		return;
	for (struct key *key = model->keys.live.oldest; key; key = key->newer) {
		if (key->kind != OBJECT_mr || key->process != event->process || key->any ||
		    key->access & ABI_ACCESS_ON_DEMAND || key->unmapped ||
		    (key->released.id.thread && !unmapped) || key->memory < memory->addr ||
		    key->memory + key->length > memory->addr + memory->length ||
		    !is_idle(model, model_region(model, event->process, key->handle)))
			continue;
		key->released = moment_of(event);
		key->released_by = memory->what;
		key->unmapped = unmapped;
		key->posts = steady ? steady->posts : 0;
	}
}

void keys_end(struct model *model, uint32_t process, int64_t time)
{
	struct moment moment = { .verb = VERB_COUNT, .process = process, .time = time };
	struct key *key = model->keys.live.oldest, *next;

	for (; key; key = next) {
		next = key->newer;
		if (key->process == process)
			keys_mark_dead(&model->keys, key, &moment);
	}
}

/*
 * Memory
 */
#include "cli/emit/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "cli/emit/names.h"
#include "core/base/vec.h"

static struct region *add_region(struct memory *memory, uint32_t object, uint32_t process,
				 int64_t time)
{
	struct region *region = vec_push(memory->regions, memory->nregions);

	if (region)
		*region = (struct region){
			.object = object, .process = process, .from = time, .to = INT64_MAX
		};
	return region;
}

/* End the region of @object; NULL: it had none. */
static struct region *end_region(struct memory *memory, uint32_t object, int64_t time)
{
	for (size_t i = memory->nregions; i--;)
		if (memory->regions[i].object == object) {
			if (memory->regions[i].to == INT64_MAX)
				memory->regions[i].to = time;
			return &memory->regions[i];
		}
	return NULL;
}

static int learn_mr(struct memory *memory, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct region *region = add_region(memory, call->object, event->process, event->time);
	int64_t iova;

	if (!region)
		return -ENOMEM;
	if (call->verb == VERB_reg_mr || call->verb == VERB_reg_mr_iova ||
	    call->verb == VERB_reg_mr_iova2) {
		region->addr = args_number(call->args, ARG(addr));
		region->length = args_number(call->args, ARG(length));
	}
	region->iova = args_get(call->args, ARG(iova), &iova) ? (uint64_t)iova
		       : args_number(call->args, ARG(access)) & IBV_ACCESS_ZERO_BASED
			       ? 0
			       : region->addr;
	region->lkey = (uint32_t)args_number(call->out, ARG(ret.lkey));
	region->rkey = (uint32_t)args_number(call->out, ARG(ret.rkey));
	return 0;
}

static int learn_rereg(struct memory *memory, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct region before = { 0 }, *old = end_region(memory, call->object, event->time);
	uint64_t flags = args_number(call->args, ARG(flags));
	struct region *region;
	int64_t key;

	if (old)
		before = *old;
	region = add_region(memory, call->object, event->process, event->time);
	if (!region)
		return -ENOMEM;
	region->addr = before.addr;
	region->length = before.length;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		region->addr = args_number(call->args, ARG(addr));
		region->length = args_number(call->args, ARG(length));
	}
	region->iova = region->addr;
	region->lkey = args_get(call->out, ARG(mr.lkey), &key) ? (uint32_t)key : before.lkey;
	region->rkey = args_get(call->out, ARG(mr.rkey), &key) ? (uint32_t)key : before.rkey;
	return 0;
}

static int learn_window(struct memory *memory, uint32_t object, uint32_t process, int64_t time,
			uint32_t rkey, uint64_t addr)
{
	struct region *region;

	end_region(memory, object, time);
	region = add_region(memory, object, process, time);
	if (!region)
		return -ENOMEM;
	region->rkey = rkey;
	region->addr = region->iova = addr;
	return 0;
}

static int learn_call(struct memory *memory, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct verb_info *info = &verb_infos[call->verb];

	if (call->failed || !call->object)
		return 0;
	if (info->effect == EFFECT_CREATE && info->object == OBJECT_mr)
		return learn_mr(memory, event);
	if (call->verb == VERB_rereg_mr)
		return learn_rereg(memory, event);
	if (call->verb == VERB_alloc_mw)
		return learn_window(memory, call->object, event->process, event->time,
				    (uint32_t)args_number(call->out, ARG(ret.rkey)), 0);
	if (call->verb == VERB_bind_mw)
		return learn_window(memory, call->object, event->process, event->time,
				    (uint32_t)args_number(call->out, ARG(mw.rkey)),
				    args_number(call->args, ARG(mw_bind.bind_info.addr)));
	if (info->effect == EFFECT_DESTROY &&
	    (info->object == OBJECT_mr || info->object == OBJECT_mw))
		end_region(memory, call->object, call->begin);
	return 0;
}

static int learn_post(struct memory *memory, struct program *program,
		      const struct trace_event *event)
{
	const struct post *post = event->post;

	for (uint32_t i = 0; post_is_send(post) && i < post_taken(post); i++) {
		const struct object *mw;
		int err;

		if (post->wr[i].opcode != IBV_WR_BIND_MW)
			continue;
		mw = trace_object_at(program->trace, event->process, OBJECT_mw, post->wr[i].bind_mw,
				     event->time);
		err = !mw ? 0
			  : learn_window(memory, mw->id, event->process, event->time,
					 (uint32_t)post->wr[i].bind_rkey, post->wr[i].bind_addr);
		if (err)
			return err;
	}
	return 0;
}

int memory_learn(struct memory *memory, struct program *program, const struct trace_event *event)
{
	if (event->kind == TRACE_RETURN)
		return learn_call(memory, event);
	return event->kind == TRACE_POST ? learn_post(memory, program, event) : 0;
}

static int compare_regions(const void *a, const void *b)
{
	const struct region *x = *(const struct region *const *)a;
	const struct region *y = *(const struct region *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int add_buffer(struct memory *memory, const struct region *region)
{
	struct buffer *last = memory->nbuffers ? &memory->buffers[memory->nbuffers - 1] : NULL;
	uint64_t end = region->addr + region->length;
	uint32_t number = 1;

	if (last && last->process == region->process) {
		if (region->addr < last->addr + last->length) {
			if (end > last->addr + last->length)
				last->length = end - last->addr;
			return 0;
		}
		number = last->number + 1;
	}
	last = vec_push(memory->buffers, memory->nbuffers);
	if (!last)
		return -ENOMEM;
	*last = (struct buffer){ region->process, number, region->addr, region->length };
	return 0;
}

int memory_finish(struct memory *memory)
{
	const struct region **sorted = calloc(memory->nregions + 1, sizeof(struct region *));
	int err = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < memory->nregions; i++)
		sorted[i] = &memory->regions[i];
	if (!err)
		qsort(sorted, memory->nregions, sizeof(*sorted), compare_regions);
	for (size_t i = 0; !err && i < memory->nregions; i++)
		if (sorted[i]->length && sorted[i]->addr + sorted[i]->length > sorted[i]->addr)
			err = add_buffer(memory, sorted[i]);
	free(sorted);
	return err;
}

void memory_fini(struct memory *memory)
{
	free(memory->regions);
	free(memory->buffers);
}

bool memory_is_live(const struct region *region, int64_t time)
{
	return region->from <= time && time < region->to;
}

const struct region *memory_find(const struct memory *memory, uint32_t process, uint32_t key,
				 bool remote, int64_t time)
{
	const struct region *dead = NULL;

	for (size_t i = memory->nregions; i--;) {
		const struct region *region = &memory->regions[i];

		if (region->process != process || region->from > time ||
		    (remote ? region->rkey : region->lkey) != key)
			continue;
		if (time < region->to)
			return region;
		if (!dead)
			dead = region;
	}
	return dead;
}

const struct region *memory_of(const struct memory *memory, uint32_t object, int64_t time)
{
	for (size_t i = memory->nregions; i--;)
		if (memory->regions[i].object == object && memory->regions[i].from <= time)
			return &memory->regions[i];
	return NULL;
}

enum { STATIC_BUFFERS = 64, STATIC_BYTES = 1 << 20 };

bool memory_is_static(const struct memory *memory, size_t i)
{
	const struct buffer *buffer = &memory->buffers[i];

	return memory->nbuffers <= STATIC_BUFFERS && buffer->length <= STATIC_BYTES &&
	       buffer->addr % MEMORY_PAGE == 0;
}

const char *memory_name(const struct program *program, const struct buffer *buffer, char text[64])
{
	char *at = text;

	if (program->shared)
		at = stpcpy(names_decimal(stpcpy(at, "p"), buffer->process), "_");
	*names_decimal(stpcpy(at, "buffer"), buffer->number) = '\0';
	return text;
}

static const struct buffer *find_buffer(const struct memory *memory, uint32_t process,
					uint64_t addr)
{
	for (size_t i = 0; i < memory->nbuffers; i++) {
		const struct buffer *b = &memory->buffers[i];

		if (b->process == process && addr - b->addr < b->length)
			return b;
	}
	return NULL;
}

bool memory_has(const struct memory *memory, uint32_t process, uint64_t addr)
{
	return find_buffer(memory, process, addr);
}

void memory_add_address(const struct memory *memory, struct program *program,
			const struct region *region, uint32_t process, uint64_t addr, bool pointer)
{
	const struct buffer *buffer;
	char name[64];

	if (region && region->iova != region->addr) {
		phrase_number(&program->phrase, 'x', (int64_t)addr);
		return;
	}
	buffer = region && region->length ? find_buffer(memory, region->process, region->addr)
					  : find_buffer(memory, process, addr);
	if (!buffer) {
		phrase_number(&program->phrase, 'x', (int64_t)addr);
		return;
	}
	phrase_addf(&program->phrase, pointer ? "%s" : "(uintptr_t)%s",
		    memory_name(program, buffer, name));
	phrase_number(&program->phrase, 'o', (int64_t)(addr - buffer->addr));
}

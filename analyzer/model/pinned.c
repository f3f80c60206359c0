/*
 * Memory that a process has registered, and its state after a fork
 *
 * 	the result of ibv_is_fork_initialized() in the program
 * 	else VERBATIM_SOFT_FORK, by which the software device simulates an older kernel; other
 * 	     devices do not read it
 * 	else the software device, which needs nothing
 * 	else the answer of the recorder's kernel
 */
#include "analyzer/model/pinned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "core/store/read/lookup.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

#define SECOND_NS INT64_C(1000000000)

enum { PAGE = 4096, REREG_CHANGE_TRANSLATION = 1 /* enum ibv_rereg_mr_flags */ };

/* enum ibv_fork_status */
enum { STATUS_ENABLED = 1, STATUS_UNNEEDED };

const struct pinned *model_pinned(const struct model *model, uint32_t process)
{
	static const struct pinned none;

	return process && process <= model->npinned ? &model->pinned[process - 1] : &none;
}

/* An altered trace may have events of processes that it does not list. */
static bool is_known(const struct model *model, uint32_t process)
{
	return !model->trace || trace_process(model->trace, process);
}

/* NULL if out of memory. */
static struct pinned *make_pinned(struct model *model, uint32_t process)
{
	struct pinned *more;

	if (!process)
		return NULL;
	if (process > model->npinned) {
		more = realloc(model->pinned, process * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + model->npinned, 0, (process - model->npinned) * sizeof(*more));
		model->pinned = more;
		model->npinned = process;
	}
	return &model->pinned[process - 1];
}

uint64_t pinned_page_bytes(const struct model *model, uint32_t process, uint64_t addr,
			   uint64_t length)
{
	const struct process *p = model->trace ? trace_process(model->trace, process) : NULL;
	uint64_t page = p && p->page_size ? p->page_size : PAGE, first = addr / page;
	uint64_t last = addr + length; /* first byte after the memory */

	if (!length || last < addr)
		return 0;
	return ((last - 1) / page - first + 1) * page;
}

bool pinned_read_request(const struct trace_event *event, uint64_t *ret_addr, uint64_t *ret_length)
{
	const struct args *args = event->call->args;
	int64_t addr, length, access = 0;

	switch (event->call->verb) {
	case VERB_reg_mr:
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
		break;
	default:
		return false;
	}
	if (!args || args_parse(args) || !args_get(args, ARG(addr), &addr) ||
	    !args_get(args, ARG(length), &length))
		return false;
	args_get(args, ARG(access), &access);
	*ret_addr = (uint64_t)addr;
	*ret_length = (uint64_t)length;
	return !(access & ABI_ACCESS_ON_DEMAND);
}

const struct device *pinned_device_of(struct model *model, const struct trace_event *event)
{
	const struct life *life = NULL;
	int64_t pd;

	if (event->call->args && args_get(event->call->args, ARG(pd), &pd))
		life = model_find(model, event->process, OBJECT_pd, (uint64_t)pd);
	if (life)
		life = model_find(model, event->process, OBJECT_context, life->context);
	return life ? life->device : NULL;
}

static void unpin_region(struct pinned *p, struct life *life)
{
	if (!life->pinned)
		return;
	p->bytes -= life->pinned;
	p->regions--;
	life->pinned = 0;
}

void pinned_remove_region(struct model *model, struct life *life)
{
	if (life->pinned && !life->inherited)
		unpin_region(&model->pinned[life->process - 1], life);
}

static void pin_region(struct model *model, struct pinned *p, struct life *life, uint64_t addr,
		       uint64_t length)
{
	unpin_region(p, life);
	life->addr = addr;
	life->pinned = pinned_page_bytes(model, life->process, addr, length);
	p->bytes += life->pinned;
	p->regions += life->pinned != 0;
}

static void note_registration(struct model *model, struct pinned *p,
			      const struct trace_event *event)
{
	struct life *life = model_find(model, event->process, OBJECT_mr, event->call->handle);
	uint64_t addr, length;

	if (!life || life->inherited || !pinned_read_request(event, &addr, &length))
		return;
	pin_region(model, p, life, addr, length);
	if (!p->streak++ || life->created.time - p->streak_began > SECOND_NS) {
		p->streak = 1;
		p->streak_began = life->created.time;
	}
	p->last = life->created;
	if (!p->first.id.thread)
		p->first = life->created;
}

ssize_t model_take_regions(struct model *model, uint32_t process, struct life ***ret_found)
{
	struct pinned *p = make_pinned(model, process);
	uint32_t last = p ? p->last.id.thread : 0;
	ssize_t n, kept = 0;

	*ret_found = NULL;
	if (!last || (p->given.thread == last && p->given.n == p->last.id.n))
		return 0;
	n = lives_list_process(&model->lives, process, ret_found);
	for (ssize_t i = 0; i < n; i++) {
		struct life *life = (*ret_found)[i];

		if (life->pinned && (!p->given.thread || life->created.time > p->given_to))
			(*ret_found)[kept++] = life;
	}
	p->given = p->last.id;
	p->given_to = p->last.time;
	return n < 0 ? n : kept;
}

const struct life *model_region(const struct model *model, uint32_t process, uint64_t handle)
{
	const struct life *life = lives_find(&model->lives, process, OBJECT_mr, handle);

	return life && life->pinned && !life->inherited && life->state == LIFE_LIVE ? life : NULL;
}

const struct life *model_descriptor(const struct model *model, uint32_t process, uint64_t handle)
{
	static const enum object_kind kinds[] = { OBJECT_comp_channel, OBJECT_context };

	for (int i = 0; i < 2; i++) {
		const struct life *life = lives_find(&model->lives, process, kinds[i], handle);

		if (life && life->state == LIFE_LIVE)
			return life;
	}
	return NULL;
}

static void note_rereg(struct model *model, struct pinned *p, const struct trace_event *event)
{
	const struct args *args = event->call->args;
	struct life *life;
	int64_t mr, flags, addr, length;

	if (!args || args_parse(args) || !args_get(args, ARG(mr), &mr) ||
	    !args_get(args, ARG(flags), &flags) || !(flags & REREG_CHANGE_TRANSLATION) ||
	    !args_get(args, ARG(addr), &addr) || !args_get(args, ARG(length), &length))
		return;
	life = model_find(model, event->process, OBJECT_mr, (uint64_t)mr);
	if (life && life->state == LIFE_LIVE && !life->inherited && life->pinned)
		pin_region(model, p, life, (uint64_t)addr, (uint64_t)length);
}

static void note_fork_status(struct pinned *p, int64_t status)
{
	p->asked = true;
	p->copies = status == STATUS_UNNEEDED;
	p->checked = status == STATUS_UNNEEDED;
	p->kept |= status == STATUS_ENABLED;
}

/*
 * The library refuses fork support once memory has been registered, unless the kernel copies pages:
 * then it returns 0 before it looks.
 */
static void note_fork_init(struct model *model, struct pinned *p, const struct trace_event *event)
{
	bool late = !p->checked && p->first.id.thread;

	if (late && !p->late.id.thread)
		p->late = moment_of(event);
	p->checked |= !late;
	p->kept |= !event->call->failed &&
		   (!late || model_fork_safety(model, event->process) != FORK_COPIES);
}

int pinned_note_return(struct model *model, const struct trace_event *event)
{
	struct pinned *p;

	switch (event->call->verb) {
	case VERB_reg_mr:
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
	case VERB_rereg_mr:
	case VERB_fork_init:
	case VERB_is_fork_initialized:
		break;
	default:
		return 0;
	}
	if ((event->call->failed && event->call->verb != VERB_fork_init) ||
	    !is_known(model, event->process))
		return 0;
	p = make_pinned(model, event->process);
	if (!p)
		return log_err(-ENOMEM, "memory of a process");
	if (event->call->verb == VERB_fork_init)
		note_fork_init(model, p, event);
	if (event->call->failed)
		return 0;
	if (event->call->verb == VERB_is_fork_initialized)
		note_fork_status(p, event->call->ret);
	else if (event->call->verb == VERB_rereg_mr)
		note_rereg(model, p, event);
	else
		note_registration(model, p, event);
	return 0;
}

int pinned_inherit(struct model *model, uint32_t child, uint32_t parent)
{
	struct pinned *p;

	if (!is_known(model, child) || !is_known(model, parent))
		return 0;
	p = make_pinned(model, child > parent ? child : parent);
	if (!p)
		return log_err(-ENOMEM, "memory of a process");
	/* pinned pages stay with the parent */
	model->pinned[child - 1] = (struct pinned){ .kept = model->pinned[parent - 1].kept,
						    .late = model->pinned[parent - 1].late };
	return 0;
}

static bool has_variable(const struct model *model, uint32_t process, const char *name)
{
	char value[8];

	return trace_environ(model->trace, process, name, value, sizeof(value));
}

/* Does the process use the software device, chosen by the recorder or preloaded by the user? */
static bool is_on_soft(const struct model *model, uint32_t process)
{
	struct trace *its = trace_part(model->trace, trace_part_of(model->trace, process));
	const char *device = trace_process_meta(model->trace, process, "device");

	return (device && !strcmp(device, "soft")) ||
	       lookup_has_module(its, "%/libverbatim-soft.so") ||
	       lookup_has_module(its, "%/dropin/libibverbs.so%");
}

const char *pinned_limiter(const struct model *model, uint32_t process, const struct device *device)
{
	const struct process *its = model->trace ? trace_process(model->trace, process) : NULL;

	if (!its || !its->page_size || its->memlock == PROCESS_UNLIMITED)
		return NULL;
	if (!its->ipc_lock)
		return "";
	if (device_is_siw(device))
		return "siw";
	return has_variable(model, process, "VERBATIM_SOFT_MEMLOCK") && is_on_soft(model, process)
		       ? "VERBATIM_SOFT_MEMLOCK"
		       : NULL;
}

static int read_copies_on_fork(const struct model *model, uint32_t process)
{
	const char *copies = trace_process_meta(model->trace, process, "copies_on_fork");
	bool soft = is_on_soft(model, process);

	if (soft && has_variable(model, process, "VERBATIM_SOFT_FORK"))
		return 0;
	if (soft || (copies && !strcmp(copies, "yes")))
		return 1;
	return copies && !strcmp(copies, "no") ? 0 : -1;
}

enum fork_safety model_fork_safety(struct model *model, uint32_t process)
{
	struct pinned *p =
		model->trace && is_known(model, process) ? make_pinned(model, process) : NULL;
	char value[16];

	if (!p)
		return FORK_NOT_KNOWN;
	if (!p->asked) {
		p->copies = read_copies_on_fork(model, process);
		p->asked = true;
	}
	if (!p->implied) {
		p->implied = true;
		trace_environ(model->trace, process, "VERBATIM_SOFT_FORK", value, sizeof(value));
		p->kept |= (!strcmp(value, "enabled") && is_on_soft(model, process)) ||
			   has_variable(model, process, "RDMAV_FORK_SAFE") ||
			   has_variable(model, process, "IBV_FORK_SAFE");
	}
	if (p->copies)
		return p->copies > 0 ? FORK_COPIES : FORK_NOT_KNOWN;
	return p->kept ? FORK_KEPT : FORK_UNSAFE;
}

bool model_asked_fork_safety(struct model *model, uint32_t process)
{
	const struct pinned *p = model_pinned(model, process);

	return model_fork_safety(model, process) != FORK_NOT_KNOWN && (p->kept || p->checked);
}

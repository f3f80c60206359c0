/*
 * The memory that control verbs name
 *
 * A call may use the part of its range that was learned from the same call (learn.c). Other
 * addresses in an altered trace are memory of this process that the device must not access.
 */
#include <errno.h>

#include "replay/state/state.h"
#include "replay/state/translate.h"

static bool is_replay_memory(const struct translation *t, uint64_t addr, uint64_t length)
{
	return memory_holds(t->r->memory[t->event->process], (void *)(uintptr_t)addr, length);
}

static uint64_t find_hole(const struct translation *t)
{
	return (uintptr_t)memory_guard_page(t->r->memory[t->event->process]);
}

/* Replace an address outside of the replay's memory by one that is not mapped. */
static void limit_range(struct translation *t, uint64_t *addr, uint64_t length)
{
	if (*addr && length && !memory_is_all(0, length) && !is_replay_memory(t, *addr, length))
		*addr = find_hole(t);
}

/* Translate a registration; if it failed because the address had no memory, it must fail again. */
static void reg_mr(struct translation *t, uint64_t *a)
{
	const struct call *call = t->event->call;

	limit_range(t, &a[1], a[2]);
	if (call->failed && call->error == EFAULT)
		a[1] = find_hole(t);
}

/* Translate the iova of a region: the address of its memory, or a value that the program chose. */
static void reg_mr_iova(struct translation *t, uint64_t *a)
{
	int64_t there = 0;

	reg_mr(t, a);
	if (args_get(t->event->call->args, ARG(addr), &there) && (uint64_t)there == a[3])
		a[3] = a[1];
}

/* Check the memory of a copy by the processor: without it the call cannot be replayed. */
static void check_device_copy(struct translation *t, uint64_t addr, uint64_t length)
{
	if (length && !is_replay_memory(t, addr, length))
		t->missing = "the memory that it uses is not in the trace";
}

void translate_memory(struct translation *t, uint64_t *a)
{
	switch (t->event->call->verb) {
	case VERB_reg_mr:
		reg_mr(t, a);
		break;
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
		reg_mr_iova(t, a);
		break;
	case VERB_rereg_mr:
		if (a[1] & IBV_REREG_MR_CHANGE_TRANSLATION)
			limit_range(t, &a[3], a[4]);
		break;
	case VERB_dontfork_range:
	case VERB_dofork_range:
		limit_range(t, &a[0], a[1]);
		break;
	case VERB_memcpy_to_dm:
		check_device_copy(t, a[2], a[3]);
		break;
	case VERB_memcpy_from_dm:
		check_device_copy(t, a[0], a[3]);
		break;
	default:
		break;
	}
}

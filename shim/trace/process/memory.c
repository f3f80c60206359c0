/*
 * Registered memory that the program releases
 *
 * The interposed functions that release memory are in a separate library, libverbatim-memory.so
 * (shim/memory), which `verbatim record --memory` also preloads: so a program that is recorded
 * without --memory uses its own free().
 */
#include "shim/trace/memory.h"

#include <errno.h>
#include <string.h>

#include "shim/trace/base/libc.h"
#include "shim/trace/objects/ranges.h"
#include "shim/trace/process/process.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/stack/stack.h"

OURS bool verbatim_memory_holds(const void *addr, size_t length, bool whole)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;

	if (!atomic_load_explicit(&ranges_on, memory_order_relaxed))
		return false;
	return whole ? ranges_within(at, length) : ranges_overlap(at, length);
}

OURS void verbatim_memory_mapped(const void *addr, size_t length, bool huge)
{
	ranges_map((uint64_t)(uintptr_t)addr, length, huge);
}

static void write_memory(enum event_memory_what what, const void *addr, size_t length)
{
	struct event_memory *event;
	struct stack stack;

	stack_take(&stack);
	event = record_reserve(sizeof(*event) + STACK_FRAMES * 8);
	if (!event)
		return;
	record_head(&event->head, EVENT_MEMORY, record_ticks());
	event->addr = (uint64_t)(uintptr_t)addr;
	event->length = length;
	event->what = (uint16_t)what;
	event->nframes = (uint16_t)stack.nframes;
	event->modules = stack.modules;
	memcpy(event + 1, stack.frames, stack.nframes * sizeof(*stack.frames));
	record_commit(&event->head, sizeof(*event) / 8 + event->nframes);
}

OURS void verbatim_memory_gone(enum event_memory_what what, const void *addr, size_t length)
{
	int saved = errno;

	if (process_is_recorded() && !recorder.busy && record_ready())
		write_memory(what, addr, length);
	errno = saved;
}

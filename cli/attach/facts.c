/*
 * Small questions about the facts, for conclusions and for printing
 */
#include "cli/attach/facts.h"

#include <string.h>

/*
 * The name of a verb as a program knows it: without the version ("ibv_destroy_cq@@IBVERBS_1.1"), or
 * the prefix and suffix of rdma-core's own name of a version ("__ibv_destroy_cq_1_1").
 */
static void trim_name(const char *function, char name[UNWIND_NAME])
{
	size_t n;

	function += strncmp(function, "__", 2) ? 0 : 2;
	n = strcspn(function, "@");
	if (n >= UNWIND_NAME)
		n = UNWIND_NAME - 1;
	memcpy(name, function, n);
	name[n] = '\0';
	if (n > 4 && (!strcmp(name + n - 4, "_1_0") || !strcmp(name + n - 4, "_1_1")))
		name[n - 4] = '\0';
}

static bool is_verb(const char *name)
{
	return !strncmp(name, "ibv_", 4) || !strncmp(name, "rdma_", 5);
}

/* The outermost verb: the one that the program called, not verbs that librdmacm calls inside it. */
const char *facts_verb(const struct facts *facts, size_t thread, char name[UNWIND_NAME])
{
	const struct unwind_stack *stack = facts->stacks ? &facts->stacks[thread] : NULL;

	for (size_t i = stack ? stack->n : 0; i; i--) {
		trim_name(stack->frames[i - 1].function, name);
		if (is_verb(name))
			return name;
	}
	return NULL;
}

bool facts_is_in(const struct facts *facts, size_t thread, const char *function)
{
	const struct unwind_stack *stack = facts->stacks ? &facts->stacks[thread] : NULL;
	char name[UNWIND_NAME];

	for (size_t i = 0; stack && i < stack->n; i++) {
		trim_name(stack->frames[i].function, name);
		if (!strcmp(name, function))
			return true;
	}
	return false;
}

uint64_t facts_longest_stop(const struct facts *facts)
{
	uint64_t longest = 0;

	for (size_t i = 0; facts->stops && i < facts->process.nthreads; i++)
		if (facts->stops[i].ns > longest)
			longest = facts->stops[i].ns;
	return longest;
}

/* Pinned bytes: the larger count. Only VmPin, the kernel's, includes the queues of providers. */
uint64_t facts_pinned(const struct facts *facts)
{
	uint64_t pinned = fabric_pinned(&facts->fabric);

	return pinned > facts->process.pinned ? pinned : facts->process.pinned;
}

uint64_t facts_memlock(const struct facts *facts)
{
	const struct target *process = &facts->process;

	if (facts->fabric.joined)
		return process->soft_memlock ? process->memlock_soft : UINT64_MAX;
	return process->ipc_lock ? UINT64_MAX : process->memlock_soft;
}

size_t facts_regions(const struct facts *facts)
{
	size_t n = facts->fabric.nmrs;

	for (size_t i = 0; i < facts->kernel.n; i++)
		n += facts->kernel.objects[i].kind == KERNEL_MR;
	return n;
}

#pragma once
/*
 * The data about a process that was not recorded. Filled by attach.c.
 *
 * Not thread-safe.
 */
#include "cli/attach/core_rings.h"
#include "cli/attach/fabric.h"
#include "cli/attach/kernel.h"
#include "cli/attach/memory.h"
#include "cli/attach/handle.h"
#include "cli/attach/target.h"
#include "cli/attach/stop.h"
#include "cli/attach/unwind.h"

struct facts {
	struct core_rings rings; /* of a core */
	bool is_core;            /* not a process: only memory, registers and names are known */
	int signal;              /* the signal that ended the process of a core, or 0 */
	uint64_t missing;        /* bytes that a truncated core lacks */
	struct target process;
	struct memory memory;
	struct memory_range *ranges;
	struct kernel kernel;
	struct fabric fabric;
	bool searched; /* its memory was searched for `handles` */
	struct handles handles;
	struct stop *stops;          /* of process.threads, or NULL */
	struct unwind_stack *stacks; /* their stacks, or NULL */
	const char *no_stacks;       /* why some are missing, a constant text; or NULL */
};

/* The outermost verb ("ibv_", "rdma_") of a thread's stack, in @name; or NULL. */
const char *facts_verb(const struct facts *facts, size_t thread, char name[UNWIND_NAME]);

/* Is @function in the stack of @thread? */
bool facts_is_in(const struct facts *facts, size_t thread, const char *function);

/* The duration of the longest stop of a thread, ns. */
uint64_t facts_longest_stop(const struct facts *facts);

/* Bytes that registered memory pins, by the best source. The limit; UINT64_MAX: none applies. */
uint64_t facts_pinned(const struct facts *facts);
uint64_t facts_memlock(const struct facts *facts);
size_t facts_regions(const struct facts *facts);

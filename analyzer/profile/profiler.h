#pragma once
/*
 * The state of the pass that computes a profile. For the files of this folder.
 *
 * Not thread-safe.
 */
#include "analyzer/model/queue.h"
#include "analyzer/model/watcher.h"
#include "analyzer/profile/profile.h"
#include "core/base/map.h"
#include "core/store/read/trace.h"
#include "core/store/read/waited.h"

enum { PLACE_CACHE = 64 };

/* Calls of control verbs since the last post of a thread: counted when it posts again. */
struct pending_call {
	size_t place; /* of profile.places */
	uint64_t n;
	int64_t ns;
};

struct worker {
	bool sent; /* it has posted to a send queue */
	struct pending_call *pending;
	size_t npending;
	uint32_t batch; /* completions so far of a batch in progress; 0: none */
};

/* The phases of a process. */
struct process_phase {
	uint32_t depth;
	int64_t since; /* when it entered the phase */
};

struct profiler {
	struct trace *trace;
	struct model *model;
	struct profile *profile;
	const struct profile_select *select;
	struct process_phase *inside; /* by process */
	size_t ninside;
	uint32_t in_phase; /* processes that are in a phase */
	int64_t phase_since;
	int64_t now;         /* time of the last event */
	bool counts;         /* the event belongs to the selected part */
	struct map by_stack; /* (stack, verb, process) to an index of profile.places, + 1 */
	struct map by_key;   /* (key, verb, process) to 1 + index */
	struct {
		uint32_t stack, process;
		enum verb verb;
		size_t place; /* + 1 */
	} cached[PLACE_CACHE];
	struct worker *workers; /* by thread */
	size_t nworkers;
	struct map senders; /* of messages.c, by object */
	struct sender *all_senders;
	struct waited *waits;        /* NULL: the trace has none */
	struct waited_row next_wait; /* time INT64_MAX: no more */
	struct timing *timing;       /* NULL: no time line is made */
	const struct profile_extras *more;
	bool no_memory;
};

/* Times of a damaged trace may have any value: a sum saturates at the largest value. */
static inline void profiler_add(int64_t *sum, int64_t ns)
{
	if (ns > 0 && __builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

static inline void profiler_fail(struct profiler *p)
{
	p->no_memory = true;
}

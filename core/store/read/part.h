#pragma once
/*
 * The parts of a joint trace (joint.h), for the files that read it. Not thread-safe.
 */
#include <stddef.h>

#include "core/store/db/ids.h"
#include "core/store/read/trace_clock.h"

struct rare_event;
struct source_calls;
struct trace;

struct joint_part {
	struct trace *trace;
	const char *path;         /* as the user gave it */
	struct rare_event *rares; /* its rare events, renumbered for the joint trace */
	/* its name, and how many threads and processes the parts before it have */
	struct id_range ids;
	uint32_t objects, stacks;
	struct trace_clock clock;
};

struct joint {
	struct joint_part *parts;
	size_t n;
	struct id_range *ranges; /* the ids of all parts, one after the other */
};

static inline uint32_t joint_number(uint32_t number, uint32_t before)
{
	return number ? number + before : 0;
}

/* The sources of calls (source_calls.h), one for each part. */
void joint_sources(const struct trace *whole, struct source_calls *ret_sources);

/* The part that has a process, a thread or a stack. */
struct joint_part *joint_of_process(struct joint *joint, uint32_t process);
struct joint_part *joint_of_thread(struct joint *joint, uint32_t thread);
struct joint_part *joint_of_stack(struct joint *joint, uint32_t stack);

#pragma once
/*
 * Who makes the recorded faults again: the software device, or the recorder's library, on any
 * device. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

/* The functions of shim/soft/verbs/inject.h, or those of shim/trace/faults/ask.c. */
struct fault_maker {
	bool recorder; /* not the software device */
	int (*fault)(const char *rule);
	int (*event)(struct ibv_context *context, const struct ibv_async_event *event);
	unsigned int (*struck)(void);
};

/* Look for one in this process. False: there is none. */
bool fault_maker_find(struct fault_maker *ret_maker);

#pragma once
/*
 * The library that injects the recorded faults: the software device's, or the recorder's, on any
 * device. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

/* The functions of shim/soft/verbs/inject.h, or those of shim/trace/faults/ask.c. */
struct fault_maker {
	bool recorder; /* the recorder's library, not the software device */
	int (*fault)(const char *rule);
	int (*event)(struct ibv_context *context, const struct ibv_async_event *event);
	unsigned int (*struck)(void);
};

/* Find the functions that inject faults in this process. False: no library has them. */
bool fault_maker_find(struct fault_maker *ret_maker);

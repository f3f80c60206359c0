#pragma once
/*
 * The state while events become statements: the tables of the passes over the trace.
 */
#include "cli/emit/memory.h"
#include "cli/emit/order.h"
#include "cli/emit/links.h"
#include "cli/emit/program.h"
#include "cli/emit/credits.h"

/* Regions and windows that outstanding requests of a send queue use. */
struct used_memory {
	uint32_t *objects;
	size_t n;
};

struct maker {
	struct program *program;
	struct memory memory;
	struct links links;
	struct order order;
	struct credits credits;
	struct used_memory *named;  /* by queue pair */
	struct used_memory *needed; /* the objects that an object was created from, by object */
	uint32_t *untold;           /* by CQ: events that are left out and not acknowledged yet */
	bool *armed;                /* by CQ: armed since its last event */
	int64_t *last;              /* time of a process's last event, by process */
	bool *ended;                /* by process: its end is in the program */
	bool advancing;     /* the remaining events of a process are generated now, since it ends */
	uint64_t *sent;     /* by queue pair: messages that succeeded */
	uint64_t *received; /* by queue pair: the messages that the peer has received */
};

#pragma once
/*
 * What events become statements with: the tables of the passes over the trace.
 */
#include "cli/emit/memory.h"
#include "cli/emit/order.h"
#include "cli/emit/links.h"
#include "cli/emit/program.h"
#include "cli/emit/room.h"

/* Regions and windows that a send queue has named and that no completion has told of yet. */
struct named {
	uint32_t *objects;
	size_t n;
};

struct maker {
	struct program *program;
	struct memory memory;
	struct links links;
	struct order order;
	struct rooms rooms;
	struct named *named;  /* by queue pair */
	struct named *needed; /* what an object was made of, by object */
	uint32_t *untold;     /* of a CQ: events that are left out, and not acknowledged yet */
	bool *armed;          /* a CQ, since its last event */
	int64_t *last;        /* when a process did something last, by process */
	bool *ended;          /* its end is in the program */
};

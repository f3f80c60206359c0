#pragma once
/*
 * The insides of units: reading a trace (units_read.c). Not thread-safe.
 */
#include "cli/reduce/units.h"
#include "core/base/map.h"
#include "core/store/read/call_refs.h"

/* By object: the state of a completion queue, or of the receives of a queue pair. */
struct reading_object {
	uint32_t armed, woken; /* 1 + the unit of its arming, and of its last event; 0: none */
	uint32_t polled;       /* 1 + unit of the last completion since the arming; 0 */
	uint32_t before;       /* `polled' at the time when that event was returned */
	uint32_t *receives;    /* units of posted receives; @received of them have completed */
	size_t posted, received;
};

/* Messages from one queue pair to another: 1 + units of sends that were not received. */
struct reading_stream {
	uint32_t to; /* queue pair */
	uint32_t *units;
	size_t count, first;
};

struct units_reader {
	struct trace *trace;
	struct units *units;
	uint32_t *joined; /* by unit: the unit that it is a part of */
	size_t njoined;
	struct map requests; /* of an event and index: the unit */
	struct map streams;  /* of two queue pairs: 1 + index */
	struct reading_stream *list;
	size_t nlist;
	const struct connections *connections; /* the trace's */
	struct reading_object *objects;
	uint32_t *outer; /* by thread: 1 + unit of the last call of the program's */
	uint32_t nthreads;
	struct call_refs *refs;
};

/* Fill r->units, including units that are joined to others. 0 or -errno after log_err(). */
int reading_run(struct units_reader *r);
void reading_fini(struct units_reader *r);

/* Add a need to a list. 0 or -ENOMEM after log_err(). */
int units_add_need(struct unit_need **list, size_t *count, uint32_t who, uint32_t object);

/* The unit that @unit is a part of. */
uint32_t reading_root(struct units_reader *r, uint32_t unit);

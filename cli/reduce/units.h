#pragma once
/*
 * A trace as units, each of which may be removed:
 *
 * 	a message    a request with its completion; a send with the receive that it fills, too; and
 * 	             the completion event that announced it; a send that is not received in the
 * 	             trace with the receive that it will fill
 * 	a call       a control verb, with those inside it
 * 	a rest       any other event
 *
 * and as objects, which are removed together with all that needs them. In memory, 40 bytes for each
 * request and completion. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/excerpt/excerpt.h"

struct trace;

enum unit_kind { UNIT_MESSAGE, UNIT_CALL, UNIT_REST };

struct unit {
	enum unit_kind kind;
	uint32_t process, thread; /* of its first event */
	bool ours;                /* a query by the recorder */
	bool idle;                /* a failed call without inner calls, or a query */
	size_t last;              /* number of its last event */
};

/* A request, a completion, or an event that has neither. */
struct unit_row {
	struct event_id id;
	uint32_t i, unit;
	uint32_t object; /* QP or SRQ that it needs; 0: none */
	uint32_t cq;     /* the CQ from which a completion was polled; 0: none */
};

/* A unit needs an object, or an object needs another. */
struct unit_need {
	uint32_t who, object;
};

struct units {
	struct unit *units; /* in the order of their first events */
	size_t count;
	struct unit_row *rows; /* sorted by event and index */
	size_t nrows;
	struct unit_need *calls; /* sorted by unit */
	size_t ncalls;
	struct unit_need *objects; /* one object needs another */
	size_t nobjects;
	struct unit_need *made; /* sorted by unit: objects that a call creates */
	size_t nmade;
	uint32_t most; /* the highest object */
};

/* Read @trace. 0 or -errno after log_err(); call units_fini() in either case. */
int units_read(struct trace *trace, struct units *units);
void units_fini(struct units *units);

/* The row of request or completion @i of event @id, or of the event itself; NULL. */
const struct unit_row *units_find(const struct units *units, struct event_id id, uint32_t i);

/* The number of rows of event @id, and the first of them in @ret_rows. */
size_t units_rows(const struct units *units, struct event_id id, const struct unit_row **ret_rows);

/* Does @unit create objects? */
bool units_creates_object(const struct units *units, uint32_t unit);

/* The unit that creates @object; UINT32_MAX: none. */
uint32_t units_find_creator(const struct units *units, uint32_t object);

/* The index in units->calls of the first need of @unit, or where it would be. */
size_t units_first_call(const struct units *units, uint32_t unit);

/* The removed units and objects. */
struct removal {
	const struct units *units;
	bool *gone;         /* by unit */
	bool *gone_objects; /* by id */
};

int removal_init(struct removal *removal, const struct units *units);
void removal_fini(struct removal *removal);
void removal_copy(struct removal *to, const struct removal *from);

/* A hash of the events that are left, the same for each trace that has them. */
uint64_t removal_hash(const struct removal *removal);

/* Remove a unit, with the objects it creates. */
void removal_add_unit(struct removal *removal, uint32_t unit);

/* Remove an object, with all that needs it. */
void removal_add_object(struct removal *removal, uint32_t object);

/* Is @row left? */
bool removal_keeps_row(const struct removal *removal, const struct unit_row *row);

/* Does the trace without @removal, a struct removal, have @item? A callback of struct excerpt. */
bool removal_has(void *removal, const struct excerpt_item *item);

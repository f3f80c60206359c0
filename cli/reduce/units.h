#pragma once
/*
 * A trace as units, each of which may be taken out of it:
 *
 *	a message    a request with its completion; a send with the receive that it fills, too; and
 *	             the event of the completion queue that told of it
 *	a call       a control verb, with those inside it
 *	a rest       any other event
 *
 * and as objects, each of which takes what needs it with it. In memory, 40 bytes for each request
 * and completion. One thread.
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
	bool ours;                /* a query of the recorder's */
};

/* A request, a completion, or an event that has none. */
struct unit_row {
	struct event_id id;
	uint32_t i, unit;
	uint32_t object; /* QP or SRQ that it needs; 0 */
	uint32_t cq;     /* that a completion came from; 0 */
};

/* A unit needs an object; or one object another. */
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
	struct unit_need *made; /* sorted by unit: objects that a call makes */
	size_t nmade;
	uint32_t most; /* the highest object */
};

/* Read @trace. 0 or -errno after log_err(); then units_fini() is needed, too. */
int units_read(struct trace *trace, struct units *units);
void units_fini(struct units *units);

/* The row of request or completion @i of event @id, or of the event itself; NULL. */
const struct unit_row *units_find(const struct units *units, struct event_id id, uint32_t i);

/* What was taken out. */
struct removal {
	const struct units *units;
	bool *gone;         /* by unit */
	bool *gone_objects; /* by id */
};

int removal_init(struct removal *removal, const struct units *units);
void removal_fini(struct removal *removal);
void removal_copy(struct removal *to, const struct removal *from);

/* Is the same gone? */
bool removal_is(const struct removal *a, const struct removal *b);

/* Take a unit out, with what it makes. */
void removal_take_unit(struct removal *removal, uint32_t unit);

/* Take an object out, with those that need it. */
void removal_take_object(struct removal *removal, uint32_t object);

/* Is @row left? */
bool removal_leaves(const struct removal *removal, const struct unit_row *row);

/* For struct excerpt; @removal is a struct removal. */
bool removal_has(void *removal, const struct excerpt_item *item);

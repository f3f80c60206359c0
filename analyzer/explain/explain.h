#pragma once
/*
 * The meaning of completion statuses, asynchronous events and errnos of verbs: one row each in
 * statuses.def, events.def and errnos.def.
 *
 * 	STATUS(name, side, means, causes, look, source)
 * 	EVENT(name, side, means, causes, look, source)
 * 	ERRNO("verbs", errnos, means, causes, look, source)
 *
 * A row of errnos applies to each of its verbs, or a class of verbs, with each of its errnos.
 *
 * Constant data; any thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/desc.h"

struct explanation {
	const char *side; /* the end to examine; NULL for an errno */
	const char *means;
	const char *causes; /* one line each, the most likely first; explain_cause() */
	const char *look;   /* commands, one per line; TRACE stands for the trace; or "" */
	const char *source;
};

/*
 * A line of causes may begin with a limit: "{send write} the text" is a cause for sends and writes
 * only. Other words: {ud} datagrams; {xrc} sends by XRC; {first} nothing has completed on the queue
 * pair before.
 */
enum explain_limit {
	EXPLAIN_RECEIVE = 1 << 0,
	EXPLAIN_SEND = 1 << 1, /* consumes a receive of the peer: also a WRITE_WITH_IMM */
	EXPLAIN_WRITE = 1 << 2,
	EXPLAIN_READ = 1 << 3,
	EXPLAIN_ATOMIC = 1 << 4,
	EXPLAIN_UD = 1 << 5,
	EXPLAIN_FIRST = 1 << 6,
	EXPLAIN_XRC = 1 << 7,
	EXPLAIN_BIND = 1 << 8,
	EXPLAIN_INVALIDATE = 1 << 9,
};

/*
 * The text of the cause that @line begins with, up to its end of line or string (@ret_length);
 * NULL: it is impossible, since the limits in @excluded (enum explain_limit) do not apply.
 */
const char *explain_cause(const char *line, unsigned int excluded, size_t *ret_length);

/* NULL if no status or type of event has this number. */
const struct explanation *explain_status(int status);
const struct explanation *explain_event(int type);

/* The row of the verb, or else of its class. NULL: this verb is not known to return @error. */
const struct explanation *explain_errno(enum verb verb, int error);

/* Does explain_errno() return a row of the verb itself, and not the row of its class? */
bool explain_has_own(enum verb verb, int error);

enum { EXPLAIN_ERRNOS = 134 }; /* all errnos with names are below it */

/*
 * The number of a name, regardless of its case, or -1: "IBV_WC_GENERAL_ERR", "GENERAL_ERR", "21";
 * "IBV_EVENT_SRQ_ERR", "SRQ_ERR"; "EINVAL", "22".
 */
int explain_find_status(const char *name);
int explain_find_event(const char *name);
int explain_find_errno(const char *name);

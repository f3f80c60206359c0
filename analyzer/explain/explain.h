#pragma once
/*
 * What a completion status, an asynchronous event and an errno of a verb mean: tables, a row each
 * in statuses.def, events.def and errnos.def.
 *
 *	STATUS(name, side, means, causes, look, source)
 *	EVENT(name, side, means, causes, look, source)
 *	ERRNO("verbs", errnos, means, causes, look, source)
 *
 * A row of errnos holds for each of its verbs, or for a class of them, with each of its errnos.
 *
 * Constant data; any thread.
 */
#include <stdbool.h>

#include "core/wire/desc.h"

struct explanation {
	const char *side; /* which end is to be looked at; NULL for an errno */
	const char *means;
	const char *causes; /* a line each, the most likely first */
	const char *look;   /* commands, a line each, in which TRACE stands for the trace; or "" */
	const char *source;
};

/* NULL where there is no such number. */
const struct explanation *explain_status(int status);
const struct explanation *explain_event(int type);

/* The verb's own row, or that of its class. NULL: not known of this verb. */
const struct explanation *explain_errno(enum verb verb, int error);

/* Is it the verb's own row? */
bool explain_has_own(enum verb verb, int error);

enum { EXPLAIN_ERRNOS = 134 }; /* those that have names are below it */

/*
 * The number of a name, whatever its case, or -1: "IBV_WC_GENERAL_ERR", "GENERAL_ERR", "21";
 * "IBV_EVENT_SRQ_ERR", "SRQ_ERR"; "EINVAL", "22".
 */
int explain_find_status(const char *name);
int explain_find_event(const char *name);
int explain_find_errno(const char *name);

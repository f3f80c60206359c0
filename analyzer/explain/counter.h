#pragma once
/*
 * What the counters of devices mean, as far as they count something that went wrong.
 *
 * Constant data; any thread.
 */
#include <stddef.h>

#include "core/store/db/counter_names.h"

/* In the order in which they are printed. */
enum counter_kind {
	COUNTER_GONE,       /* the device itself */
	COUNTER_RETRANSMIT, /* a requester has sent again */
	COUNTER_LOSS,       /* a receiver noticed missing or repeated packets */
	COUNTER_LINK,       /* packets or the link were damaged or dropped by this port */
	COUNTER_KINDS,
};

struct counter_meaning {
	const char *name; /* of the file: "local_ack_timeout_err" */
	enum counter_kind kind;
	const char *means; /* "no response came in time; requests were sent again" */
};

/* NULL: the counter counts no failure, or is not known. */
const struct counter_meaning *counter_find(const char *name);

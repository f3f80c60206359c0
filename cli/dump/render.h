#pragma once
/*
 * An event as one line, in the style of strace. Not thread-safe.
 */
#include <stdbool.h>
#include <stdio.h>

#include "core/base/map.h"
#include "core/store/read/trace.h"

struct choice;
struct names;

struct render {
	FILE *out;
	struct trace *trace;
	bool full;           /* each work request and completion on a line of its own */
	bool brief;          /* flushed completions of a queue pair once, with a count */
	bool payloads;       /* a summary of stored payloads */
	struct names *names; /* of keys and peers, or NULL */
	bool beside;         /* print numbers, keys and peers beside each object */
	/* queue pairs whose messages may come from different senders; or NULL */
	const struct map *datagrams;
	/* the other requests or completions of an event are only counted; NULL: all are shown */
	const struct choice *choice;
};

/*
 * The verb, its arguments, result and duration, without a newline: "ibv_modify_qp(qp1, {...},
 * IBV_QP_STATE) = 0 <12.3 us>".
 */
void render_event(const struct render *render, const struct trace_event *event);

/* Is src_qp of a completion valid? Only datagrams may have a GRH, and a sender. */
bool render_has_sender(const struct render *render, const struct wc *wc);

/* Is a request's immediate data the key to be invalidated? */
bool render_has_key(int opcode);

#pragma once
/*
 * The argument of a tracepoint. LTTng allows at most ten, so one structure is passed. It is on the
 * stack of the thread that calls the tracepoint.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/clock.h"
#include "core/wire/desc.h"
#include "core/wire/event.h"
#include "core/wire/ring.h"

enum {
	POINT_ARGS = 16,
	POINT_TEXT = 1024,
	POINT_SGES = 32,
};

struct point {
	const struct ring_head *ring;
	const struct clock *clock;
	const struct event_head *event;
	/* when the ring was created: identifies the ring together with pid and tid */
	uint64_t since;
	uint64_t time;               /* ns: time of the event; both are times of CLOCK_MONOTONIC */
	uint64_t number[POINT_ARGS]; /* numeric arguments of a control verb */
	char text[POINT_TEXT];       /* all arguments as text; or a mark, a path */
};

/* One work request or completion of an event. */
struct point_part {
	const struct point *of;
	uint32_t index;
	uint64_t object;
	const struct event_wr *wr;
	const struct event_wc *wc;
	const struct event_wc_extra *extra; /* all 0 if the completion has no extra fields */
	uint64_t remote_addr, rkey, bytes;
	uint64_t addr[POINT_SGES];
	uint32_t length[POINT_SGES], lkey[POINT_SGES];
};

/* Write the arguments, or the outputs, of a control verb as text. */
void text_of_call(struct point *point);
void text_of_return(struct point *point);

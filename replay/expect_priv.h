#pragma once
/* Shared by the files that compare recorded completions with those here. */
#include "replay/expect.h"
#include "replay/state.h"

/* One recorded completion that is waited for. */
struct expected {
	struct replay *r;
	const struct trace_event *event;
	const struct wc *wc;
	uint32_t index;
	struct replica *cq, *replica; /* replica: of the queue pair */
	struct replica_qp *qp;
	bool starved; /* what it waits for needs a receive that a later event posts */
};

static inline bool is_same_event(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

/* The queue pair that sent a datagram; 0 if it is not known. */
uint32_t expect_sender(const struct expected *e);

/* How long to wait: less for a queue pair from which completions have been missing. */
int64_t expect_wait_time(const struct expected *e);

/* It did not come; @waited: though it could. */
void expect_report_missing(struct expected *e, bool waited);

/* It came before another one that was recorded before it; @there: where. */
void expect_report_order(const struct expected *e, const struct arrival *a, const char *there);

/* One came that was not recorded, by @event. */
void expect_report_extra(struct replay *r, struct event_id event, const struct arrival *a);

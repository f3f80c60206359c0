#pragma once
/* Shared by the files that compare recorded completions with those here. */
#include "replay/data/expect.h"
#include "replay/state/state.h"

/* One recorded completion that is waited for. */
struct expected {
	struct replay *r;
	const struct trace_event *event;
	const struct wc *wc;
	uint32_t index;
	struct replica *cq, *replica; /* replica: of the queue pair */
	struct replica_qp *qp;
	bool starved; /* it needs a receive request that a later event posts */
	bool settled; /* it was deferred before */
	bool last;    /* no event will post one any more */
	bool again;   /* it is to be deferred again */
};

static inline bool is_same_event(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

/* expect_one.c: compare one that may come. 0 or -ENOMEM. */
int expect_one(struct expected *e);
enum side expect_side(const struct expected *e);
/* Do its requests come from a shared receive queue? */
bool expect_is_shared(const struct expected *e, enum side side);
extern const char expect_cut_short[]; /* why it does not come: its sender was killed */

/* expect_late.c: is there no receive request that its message could take? */
bool expect_is_starved(const struct expected *e, enum side side);

/* It does not come: the shared queue keeps the request that it took there. */
void expect_spare(const struct expected *e);

/* Compare it later. 0 or -ENOMEM. */
int expect_defer(const struct expected *e, enum side side);
/* The first that was deferred, into *@ret_e; NULL: there is none. Forget it. */
const struct late *expect_late(struct replay *r, struct replica_qp *qp, enum side side,
			       struct expected *ret_e);
void expect_late_drop(struct replay *r, struct replica_qp *qp, enum side side);

/*
 * expect.c: compare those that were deferred as far as they have come; or as long as there are
 * receive requests for them; or, with nothing that will post one, all. 0 or -ENOMEM.
 */
enum settle { SETTLE_COME, SETTLE_FED, SETTLE_ALL };
int expect_settle(struct replay *r, struct replica_qp *qp, enum side side, enum settle which);

/*
 * expect_killed.c: was its sender killed within the post, which leaves the message, but no event in
 * the trace? On a reliable connection we know what is under way, and need not wait for more;
 * @waited: we did.
 */
bool expect_died_sending(const struct expected *e, enum side side, bool waited);

/*
 * Was its receiver killed before it could take the message, which it takes @here: nobody knows when
 * exactly a process was killed, and what of it goes on here until its death is replayed?
 */
bool expect_died_before(const struct expected *e, enum side side, enum ibv_wc_status here);

/* Why it is compared with none here. */
enum stranger {
	STRANGER_QUEUE,  /* its queue pair is not in the trace */
	STRANGER_SENDER, /* nor is the sender of the datagram */
	STRANGER_MADE,   /* likewise, but the made peer sends it: it was compared */
	STRANGER_LOST,   /* itself is not in the trace: its poll had more than that has */
};

enum { STRANGERS_MAX = 4096 };

struct kept_stranger {
	struct event_id event;
	enum verb verb;
	enum stranger kind;
	uint32_t index, cq, qp;
	struct wc wc;
	const char *why;
	bool found;
};

struct strangers {
	size_t n, unfound;
	struct kept_stranger kept[STRANGERS_MAX];
};

/*
 * expect_stranger.c: keep it until the end, when something unasked here may turn out to be it. 0 or
 * -ENOMEM.
 */
int expect_stranger(const struct expected *e, enum stranger kind, const char *why);

/* That which @a of queue pair @qp may be; NULL: there is none. */
struct kept_stranger *expect_find_stranger(struct strangers *s, uint32_t qp, enum side side,
					   const struct arrival *a);

/* expect_report.c: the queue pair that sent a datagram; 0 if it is not known. */
uint32_t expect_sender(const struct expected *e);

/* How long to wait: less for a queue pair from which completions have been missing. */
int64_t expect_wait_time(const struct expected *e);

/* It did not come; @waited: though it could. */
void expect_report_missing(struct expected *e, bool waited);

/* It came before another one that was recorded before it; @there: where. */
void expect_report_order(const struct expected *e, const struct arrival *a, const char *there);

/* One came that was not recorded, by @event. */
void expect_report_extra(struct replay *r, struct event_id event, const struct arrival *a);

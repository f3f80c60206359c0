#pragma once
/* Shared by the files that compare recorded completions with replayed ones. */
#include "replay/data/expect.h"
#include "replay/state/state.h"

/* A recorded completion that the replay waits for. */
struct expected_wc {
	struct replay *r;
	const struct trace_event *event;
	const struct wc *wc;
	uint32_t index;
	struct replica *cq, *replica; /* replica: of the queue pair */
	struct replica_qp *qp;
	bool starved; /* it needs a receive request that a later event posts */
	bool settled; /* it was deferred and is compared now */
	bool last;    /* no later event will post that request */
	bool again;   /* it must be deferred again */
};

static inline bool is_same_event(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

/* expect_one.c: compare a completion that can come in the replay. 0 or -ENOMEM. */
int expect_compare_one(struct expected_wc *e);
enum side expect_side(const struct expected_wc *e);
/* Do the requests of this side come from a shared receive queue? */
bool expect_is_shared(const struct expected_wc *e, enum side side);
extern const char expect_cut_short[]; /* why a completion does not come: its sender was killed */

/* expect_late.c: is there no receive request for its message? */
bool expect_is_starved(const struct expected_wc *e, enum side side);

/* The completion does not come: note that its request stays in the replay's shared queue. */
void expect_note_spare(const struct expected_wc *e);

/* Defer the comparison. 0 or -ENOMEM. */
int expect_defer(const struct expected_wc *e, enum side side);
/* The first deferred completion of @side, also in *@ret_e; NULL: none. */
const struct deferred_completion *expect_late(struct replay *r, struct replica_qp *qp,
					      enum side side, struct expected_wc *ret_e);
/*
 * Does the replay have more messages for the queue pair than deferred completions? Then the trace
 * lacks completions: they were polled by a thread whose recording was cut off earlier.
 */
bool expect_has_surplus(const struct expected_wc *e, enum side side);
void expect_late_drop(struct replay *r, struct replica_qp *qp, enum side side);

/*
 * expect.c: compare deferred completions: those that have come; those for which there is a receive
 * request; or all, since no later event posts a request. 0 or -ENOMEM.
 */
enum deferred_kind { DEFERRED_COME, DEFERRED_FED, DEFERRED_ALL };
int expect_compare_late(struct replay *r, struct replica_qp *qp, enum side side,
			enum deferred_kind which);

/*
 * expect_killed.c: was the sender killed during the post, so that the trace has the message but not
 * the post? On a reliable connection the replay knows the messages in flight and need not wait;
 * @waited: the replay has waited.
 */
bool expect_sender_died(const struct expected_wc *e, enum side side, bool waited);

/*
 * Was the receiver killed before it could consume the message that completion @here consumes in the
 * replay? The exact time of a kill is unknown, and the replayed process continues until its death
 * is replayed.
 */
bool expect_died_before(const struct expected_wc *e, enum side side, enum ibv_wc_status here);

/* Why a recorded completion is compared with no replayed one. */
enum unmatched_reason {
	UNMATCHED_QUEUE,  /* its queue pair is not in the trace */
	UNMATCHED_SENDER, /* the sender of the datagram is not in the trace either */
	/* the sender is not in the trace, but a synthesized peer sends the datagram: compared */
	UNMATCHED_SYNTHESIZED,
	/* the trace lacks the completion: its poll returned more than the trace has */
	UNMATCHED_LOST,
};

enum { UNMATCHED_MAX = 4096 };

struct unmatched_wc {
	struct event_id event;
	enum verb verb;
	enum unmatched_reason kind;
	uint32_t index, cq, qp;
	struct wc wc;
	const char *why;
	bool found;
};

struct unmatched_wcs {
	size_t n, unfound;
	struct unmatched_wc kept[UNMATCHED_MAX];
};

/*
 * expect_unmatched.c: store @e until the end: an unmatched replayed completion may turn out to be
 * its counterpart. 0 or -ENOMEM.
 */
int expect_note_unmatched(const struct expected_wc *e, enum unmatched_reason kind, const char *why);

/* The stored recorded completion that @a of queue pair @qp may match; NULL: none. */
struct unmatched_wc *expect_find_unmatched(struct unmatched_wcs *s, uint32_t qp, enum side side,
					   const struct arrival *a);

/* expect_report.c: the queue pair that sent a datagram; 0 if it is not known. */
uint32_t expect_sender(const struct expected_wc *e);

/* How long to wait: less for a queue pair from which completions have been missing. */
int64_t expect_wait_time(const struct expected_wc *e);

/* Report a completion that did not come; @waited: the replay waited for it. */
void expect_report_missing(struct expected_wc *e, bool waited);

/* Report that the completion came before a completion that was recorded earlier, at @there. */
void expect_report_order(const struct expected_wc *e, const struct arrival *a, const char *there);

/* Report a completion that was not recorded, found at @event. */
void expect_report_extra(struct replay *r, struct event_id event, const struct arrival *a);

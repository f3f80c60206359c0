#pragma once
/*
 * Which work request does a completion belong to?
 *
 * One matcher follows the queues of all objects that it is told of, by any
 * numbers that stand for them (a trace's object ids). Its memory grows with
 * the work that is outstanding. One thread.
 *
 * A send queue completes in order, and a completion retires the unsignaled
 * requests before it; a receive queue, or a shared one, by wr_id, oldest
 * first. On an error only wr_id, status, qp_num and vendor_err count.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct match;

int match_new(struct match **ret_match);

/* Accepts NULL. */
void match_free(struct match *match);

/*
 * Of what was posted until @time some is missing: what a queue that was made
 * before then held is not known. Its completions are given no request until
 * as many were posted to it as it holds, all with different wr_ids; none before
 * it is reset where they repeat.
 */
void match_kept_from(struct match *match, int64_t time);

/* What follows happens at that time, in that process (numbers of any kind). */
void match_at(struct match *match, int64_t time, uint32_t process);

/* What is known of a queue pair; 0 where it is not. */
struct match_qp {
	uint32_t send_cq, recv_cq, srq;
	uint32_t max_send_wr, max_recv_wr;     /* that it may hold */
	uint32_t asked_send_wr, asked_recv_wr; /* that the program counts on */
	bool sq_sig_all;
};

/* A queue was made. Only receive queues with a CQ need this; others are matched better by it. */
int match_add_qp(struct match *match, uint32_t qp, const struct match_qp *info);

/* Of one for XRC, and of a receive work queue, also @cq, where its requests complete; else 0. */
int match_add_srq(struct match *match, uint32_t srq, uint32_t max_wr, uint32_t asked_wr,
		  uint32_t cq);

/* It was made to hold @max_wr, as ibv_modify_srq() does. */
void match_grow_srq(struct match *match, uint32_t srq, uint32_t max_wr);

/* The queue pair went to RESET: nothing is outstanding on it. */
void match_reset(struct match *match, uint32_t qp);

/* The queue pair or shared receive queue is gone. */
void match_remove(struct match *match, uint32_t object);

/* All objects that were first heard of in that process are gone. */
void match_exit(struct match *match, uint32_t process);

/* Take the requests of a post: of one that failed those before *bad_wr. 0 or -ENOMEM. */
int match_post(struct match *match, uint32_t object, const struct post *post, struct event_id id,
	       int64_t time);

struct match_found {
	struct event_id request; /* 0:0: unknown */
	uint32_t index;
	int64_t posted_at;
	bool receive;        /* on the receive side, as far as one can tell */
	uint32_t candidates; /* of an error but a flush: requests of that wr_id that it may be of */
};

/* A completion of @qp was polled from @cq. False if no request fits. */
bool match_wc(struct match *match, uint32_t qp, uint32_t cq, const struct wc *wc,
	      struct match_found *ret_found);

/*
 * The queue pair of a completion from @cq that does not tell its number, as
 * where the program did not ask an extended completion queue for it: the only
 * one that completes there; else the one that has such a request outstanding,
 * the oldest if there are several. 0: unknown.
 */
uint32_t match_guess(const struct match *match, uint32_t cq, const struct wc *wc);

/*
 * Tell it of a cursor's event: what a control verb or a post does to the
 * queues. Completions are for match_wc(). 0 or -ENOMEM.
 */
int match_event(struct match *match, struct trace *trace, const struct trace_event *event);

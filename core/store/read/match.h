#pragma once
/*
 * Which work request does a completion belong to?
 *
 * A matcher follows the queues of all objects that its caller reports. The caller identifies
 * objects by numbers of its choice, such as a trace's object ids. Its memory grows with the number
 * of outstanding requests. Not thread-safe.
 *
 * A send queue completes in order, and a completion retires the unsignaled requests before it;
 * requests of a receive queue, shared or not, are found by wr_id, oldest first. On an error only
 * wr_id, status, qp_num and vendor_err are valid. A completion of a tag matching list belongs to no
 * request.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct match;

int match_new(struct match **ret_match);

/* Accepts NULL. */
void match_free(struct match *match);

/*
 * Some posts before @time are missing, so the content of queues created before @time is unknown. A
 * completion of such a queue is matched only after as many requests were posted as the queue holds,
 * all with different wr_ids; if a wr_id repeats, only after the queue is reset.
 */
void match_set_stored_from(struct match *match, int64_t time);

/* Set the time and the process (numbers of any kind) for the following calls. */
void match_set_position(struct match *match, int64_t time, uint32_t process);

/* The properties of a queue pair; 0: not known. */
struct match_qp {
	uint32_t send_cq, recv_cq, srq;
	uint32_t max_send_wr, max_recv_wr;     /* granted by the device */
	uint32_t asked_send_wr, asked_recv_wr; /* requested by the program */
	bool sq_sig_all;
};

/* A queue pair was created. This call is optional; it improves the matching. */
int match_add_qp(struct match *match, uint32_t qp, const struct match_qp *info);

/*
 * An SRQ or a WQ was created. @cq: the CQ on which requests of an XRC SRQ or of a WQ complete; 0
 * for other SRQs.
 */
int match_add_srq(struct match *match, uint32_t srq, uint32_t max_wr, uint32_t asked_wr,
		  uint32_t cq);

/* The SRQ was resized to @max_wr by ibv_modify_srq(). */
void match_grow_srq(struct match *match, uint32_t srq, uint32_t max_wr);

/* The queue pair was set to RESET: nothing is outstanding on it. */
void match_reset(struct match *match, uint32_t qp);

/* The queue pair or shared receive queue was destroyed. */
void match_remove(struct match *match, uint32_t object);

/* Forget all objects that were first used in @process. */
void match_end_process(struct match *match, uint32_t process);

/* Add the requests of a post; of a failed post, those before *bad_wr. 0 or -ENOMEM. */
int match_note_post(struct match *match, uint32_t object, const struct post *post,
		    struct event_id id, int64_t time);

struct match_found {
	struct event_id request; /* 0:0: unknown */
	uint32_t index;
	int64_t posted_at;
	bool receive; /* a receive; a guess for errors */
	/* of an error other than a flush: number of requests that it may belong to */
	uint32_t candidates;
	/*
	 * the candidate in the other queue: a send that may have failed instead of the receive, or
	 * the reverse
	 */
	struct event_id other; /* 0:0: none */
	uint32_t other_index;
	int64_t other_posted_at;
};

/*
 * The usual completion: if it is a success of the oldest request in the queue of wc->qp, fill in
 * the request. False: it is not, and nothing has changed; call match_find_request().
 */
bool match_oldest(struct match *match, struct wc *wc);

/* A completion of @qp was polled from @cq. False if there is no matching request. */
bool match_find_request(struct match *match, uint32_t qp, uint32_t cq, const struct wc *wc,
			struct match_found *ret_found);

/*
 * The queue pair of a completion from @cq that has no queue pair number (an extended CQ need not
 * report it): the only queue pair that completes on @cq; else the one with the oldest outstanding
 * request that fits. 0: unknown.
 */
uint32_t match_guess(struct match *match, uint32_t cq, const struct wc *wc);

/*
 * Apply the effect of a control verb to the queues; @event comes from a cursor. For posts and
 * completions, call match_note_post() and match_find_request() instead. 0 or -ENOMEM.
 */
int match_process_event(struct match *match, struct trace *trace, const struct trace_event *event);

#pragma once
/*
 * The earlier data-plane events that a trace which begins in the middle must have: the outstanding
 * requests, and everything else on which their completions depend.
 *
 * Follows the events of all threads as they arrive, each thread's in order. Memory grows with the
 * outstanding requests. Not thread-safe. A handle is valid within its process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/desc.h"
#include "core/wire/event.h"

struct outstanding;

/* Returns 0 or -ENOMEM. */
int outstanding_new(struct outstanding **ret_outstanding);

/* Accepts NULL. */
void outstanding_free(struct outstanding *outstanding);

/* Identifies an event. */
struct event_place {
	uint32_t thread, process, stack;
	uint64_t n;
	int64_t time;
};

/*
 * Process a post, a poll or a request for notification, whose lengths are checked. @event may be
 * one of several events of a post: its first request has index @first in the post. All return 0 or
 * -ENOMEM.
 */
int outstanding_note_post(struct outstanding *outstanding, const struct event_place *at,
			  const struct event_post *event, uint32_t first);
int outstanding_note_poll(struct outstanding *outstanding, const struct event_place *at,
			  const struct event_poll *event);
int outstanding_note_arming(struct outstanding *outstanding, const struct event_place *at,
			    const struct event_notify *event);

/* ibv_get_cq_event() has returned an event of @cq at @time. */
void outstanding_note_fetch(struct outstanding *outstanding, uint32_t process, uint64_t cq,
			    int64_t time);

struct outstanding_qp {
	uint32_t number;
	uint64_t send_cq, recv_cq, srq; /* handles; 0: none */
	bool sq_sig_all, datagrams;
};

/* @time: when the call returned. 0 or -ENOMEM. */
int outstanding_create_qp(struct outstanding *outstanding, uint32_t process, uint64_t handle,
			  const struct outstanding_qp *qp, int64_t time);
/* @cq: where receives of an XRC SRQ complete; else 0. 0 or -ENOMEM. */
int outstanding_create_srq(struct outstanding *outstanding, uint32_t process, uint64_t handle,
			   uint64_t cq);
void outstanding_destroy(struct outstanding *outstanding, uint32_t process, uint64_t handle);
void outstanding_destroy_cq(struct outstanding *outstanding, uint32_t process, uint64_t cq);
void outstanding_reset_qp(struct outstanding *outstanding, uint32_t process, uint64_t handle,
			  int64_t time);
/* @dest: number of the peer. 0 or -ENOMEM. */
int outstanding_connect_qp(struct outstanding *outstanding, uint32_t process, uint64_t handle,
			   uint32_t dest);
/* ibv_bind_mw() has posted a request, for which there is no post event. 0 or -ENOMEM. */
int outstanding_note_bind(struct outstanding *outstanding, uint32_t process, uint64_t handle,
			  uint64_t wr_id, bool signaled);
void outstanding_end_process(struct outstanding *outstanding, uint32_t process);

/* A control verb that has returned successfully. */
struct args;
struct outstanding_note_call {
	uint32_t process;
	enum verb verb;
	uint64_t handle;
	uint64_t got;                /* ibv_get_cq_event(): the CQ of the event */
	const struct args *in, *out; /* set if outstanding_needs_args() returns true; may be NULL */
	int64_t time;                /* when it returned, ns */
};
bool outstanding_needs_args(enum verb verb);
/* Process a control verb. 0 or -ENOMEM. */
int outstanding_note_call(struct outstanding *outstanding,
			  const struct outstanding_note_call *call);

/*
 * Has the post of each completion been read by @time? A post may be missing if its thread has not
 * returned from it, but another thread has already polled the completion or received the message.
 */
bool outstanding_is_whole(const struct outstanding *outstanding, int64_t time);

/*
 * An event, or a part of an event, that must be in the trace. Exactly one of @wr, @wc and @notify
 * is not NULL.
 */
struct outstanding_item {
	struct event_place at;
	uint64_t object; /* of a post or poll: handle of its queue or CQ */
	uint32_t verb;   /* of a post: its verb */
	uint32_t index;  /* index of the request in its post, or of the completion in its poll */
	uint8_t flags;   /* flags of the event */
	const struct event_wr *wr;
	size_t bytes; /* size of @wr with its parts and elements */
	const struct event_wc *wc;
	const struct event_wc_extra *extra;
	const struct event_notify *notify;
};

/*
 * List all items needed at @time, sorted by thread and event number. They point into @outstanding
 * and are valid until its next call. The caller frees the array. Returns 0 or -ENOMEM.
 */
int outstanding_list(struct outstanding *outstanding, int64_t time, struct outstanding_item **ret,
		     size_t *ret_count);

/*
 * Forget the peers of queue pairs and the messages that no event after @time needs: those of queue
 * pairs that were destroyed. Later lists are the same. If out of memory, they stay.
 */
void outstanding_forget(struct outstanding *outstanding, int64_t time);

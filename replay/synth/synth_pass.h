#pragma once
/*
 * The first pass over a trace, before peers are synthesized: shared by synth_learn.c,
 * synth_traffic.c, synth_announced.c, synth_stop.c, synth_due.c and synth_host.c. Not thread-safe.
 */
#include "replay/synth/synth_priv.h"

enum { LATER_ANNOUNCEMENTS = 8 };

/* The last recorded events of one object. */
struct announced_events {
	struct event_id id; /* the event that announced a completion, until it is polled */
	int64_t time;
	/* later announcements; if full, the newest replaces the last */
	struct synth_spot later[LATER_ANNOUNCEMENTS];
	unsigned int nlater;
	bool solicited;    /* the queue was armed for solicited completions */
	unsigned int left; /* SRQ: messages that may have caused its limit event */
};

/* The number of the latest event of a thread, and that number when a region last ended. */
struct synth_seen {
	uint64_t now, at_end;
};

struct pass {
	struct replay *r;
	struct synthesized *far;
	struct cursor *cursor;
	uint64_t longest; /* the longest receive of the recorded side */
	uint64_t npolls;
	struct announced_events *announcements; /* by object: completion queue, queue pair, SRQ */
	struct synth_spot announced; /* the event that announced the completions of this poll */
	struct map gone;             /* process_key() of an lkey to 1 + its end in @ends */
	struct synth_spot *ends;     /* of regions */
	size_t nends;
	struct synth_seen *seen; /* by thread */
	size_t nseen;
};

/* synth_host.c: the host at that address, 1 + its index; 0 if out of memory. */
uint32_t synth_host_find(const struct pass *p, const struct synth_plan *plan,
			 const struct ibv_ah_attr *av);
/* Like synth_host_find(); if no address is known, or @av is NULL, the host known already. */
uint32_t synth_host_at(const struct pass *p, const struct synth_plan *plan,
		       const struct ibv_ah_attr *av);
/* The host that @plan is connected to at this point of the trace, or NULL. */
struct synth_host *synth_host_now(const struct pass *p, const struct synth_plan *plan);
/* The plan of @object, if its other end at this point of the trace is synthesized; or NULL. */
struct synth_plan *synth_plan_now(const struct pass *p, uint32_t object);

/* synth_traffic.c */
int synth_learn_event(struct pass *p, const struct trace_event *event);
/* Note that open requests before index @end have succeeded. */
int synth_close_requests(struct pass *p, struct synth_plan *plan, size_t end);

/* synth_announced.c: learn messages of a poll that an event had announced; learn an event. */
int synth_learn_announced(struct pass *p, const struct trace_event *poll);
int synth_learn_return(struct pass *p, const struct trace_event *event);

/*
 * synth_stop.c: any event, before what is learned of it; calls that stop a queue pair or end a
 * region; the message that completion @index shows; a completion in error, of @request or (NULL) of
 * a receive; a failure that event @at reported.
 */
void synth_stop_note_event(struct pass *p, const struct trace_event *event);
int synth_stop_note_call(struct pass *p, const struct trace_event *event);
int synth_stop_note_message(struct pass *p, struct synth_plan *plan,
			    const struct trace_event *event, uint32_t index);
int synth_stop_note_failed(struct pass *p, struct synth_plan *plan, const struct trace_event *event,
			   uint32_t index, const struct synth_request *request);
int synth_stop_note_announced(struct pass *p, struct synth_plan *plan, struct synth_spot at);

/* synth_due.c: the message that completion @index of a poll shows */
struct synth_early synth_due_message(const struct pass *p, const struct trace_event *event,
				     uint32_t index);
enum synth_due_kind { DUE_ANNOUNCED, DUE_LIMIT, DUE_AWAITED };
/* Send @message before event @at, if it was not sent before. 0 or -ENOMEM. */
int synth_send_before(struct pass *p, struct event_id at, const struct synth_early *message,
		      enum synth_due_kind kind);
/* The message's number in made.early + 1; 0 if out of memory. */
uint32_t synth_due_number(struct pass *p, const struct synth_early *message);
/* Let the queue pair of @cause fail before event @at. 0 or -ENOMEM. */
int synth_fail_before(struct pass *p, struct event_id at, uint32_t cause);

#pragma once
/*
 * Completions that wait in a CQ while a thread waits for its event, or when their queue pair is
 * destroyed.
 *
 * A completion is known to be in the CQ once the other end has polled the completion of the
 * corresponding send, until it is polled itself. This works for connected queue pairs with both
 * ends in the trace; if events are missing nothing is known.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;
struct queue_request;

/*
 * A CQ had completions that give no event, and the thread that armed it waited without polling it
 * first: it polled them late, as its next verb, after it had got an event of another CQ or slept in
 * poll(2) or the like.
 */
struct cq_event_late {
	uint64_t events;           /* events that arrived while it waited */
	uint64_t times;            /* how often it polled after at least LATE_NS (cq_event.c) */
	uint64_t prompt;           /* how often it polled at once: it did not wait */
	int64_t shortest, longest; /* time until it polled, of the late polls */
	struct moment armed;       /* the first time */
	bool solicited;            /* armed for solicited events only, the first time */
	uint32_t instead; /* object: the armed CQ, if the one with completions was never armed */
};

/*
 * A thread armed the CQ and waited for its event without a poll between the two. Empty polls are
 * counted, not recorded: one before the next recorded poll was the end of the loop that drained the
 * CQ, if the thread polls until it finds nothing.
 */
struct cq_event_blind {
	uint64_t none, one; /* waits after no empty poll, and after one */
	uint64_t checked;   /* waits after a poll, or after what may have been one */
	bool loops; /* the thread polls again even after a poll that did not fill its array */
	bool open;  /* the last wait: the next poll decides */
	uint32_t last_nwc;
	struct moment armed; /* the first arming */
};

/*
 * Completions that were in the CQ when it was armed, and that the thread left there when it had
 * polled others: no event leads to them.
 */
struct cq_event_left {
	uint64_t before;     /* completions that were in the CQ at the last arming */
	uint64_t times;      /* waits that only the next event ended */
	uint64_t drained;    /* polls without an event, after a poll that followed an event */
	int64_t asleep;      /* the last wait, which the next poll confirms; 0: none */
	int64_t longest;     /* the longest of these waits */
	uint32_t filled;     /* completions of the poll before it, if it filled its array */
	struct moment armed; /* the first time */
	bool led;            /* the last poll followed an event */
};

/* The state of a CQ with a channel. */
struct cq_event {
	struct moment armed, polled; /* the last known arming and poll; id 0:0: none */
	uint32_t filled; /* completions of the last poll, if its array had no room for more */
	bool is_armed;   /* armed, and no event was retrieved since then */
	bool solicited;  /* armed for solicited events only */
	uint64_t lying;  /* completions that are in the CQ */
	uint64_t asked;  /* completions of solicited messages, since the CQ was empty */
	/* when the first of them had arrived for certain, or remained after the last poll */
	int64_t since;
	int64_t sent; /* when the first was posted by the peer: it did not arrive earlier */
	int64_t last; /* when the last of these completions had arrived */
	bool got;     /* an event was retrieved since the last poll */
	/* a completion whose event was not retrieved was in the CQ when it was armed */
	bool lain;
	bool looked; /* the CQ was polled since it was armed */
	bool twice;  /* armed again before its event was retrieved, at some time */
	/* when the event of a completion was retrieved that was not polled since; id 0:0: none */
	struct moment due;
	struct event_id passed; /* the last examined poll, if the CQ was never armed */
	struct cq_event_late late;
	bool may_complete; /* requests were outstanding when it was armed */
	struct cq_event_blind blind;
	struct cq_event_left left;
};

/* A call of ibv_get_cq_event() in progress. */
struct event_wait {
	struct moment at;
	uint64_t channel;
	struct event_wait *next;
};

/* A CQ was created, with or without @channel. 0 or -ENOMEM. */
int cq_event_note_created(struct life *cq, bool channel);

/* Another CQ of the channel of @cq that is armed; NULL: none. */
const struct life *cq_event_find_other(const struct life *cq);

void cq_event_note_armed(struct life *cq, const struct trace_event *event);

/* A completion of @qp (NULL: not known) was polled; all completions of the poll were passed. */
void cq_event_note_completion(struct model *model, const struct trace_event *event,
			      const struct wc *wc, struct life *qp,
			      const struct queue_request *request);
void cq_event_note_polled(struct life *cq, const struct trace_event *event);

/* Had messages arrived on @qp by @now that were not polled? Not of one in ERR, or not known. */
bool cq_event_has_unread(const struct life *qp, int64_t now);

/* Drop the completions of @qp: it was reset, or is about to be destroyed. */
void cq_event_reset(struct model *model, struct life *qp);

/* ibv_get_cq_event() begins; it returns with an event of @cq (NULL: without one). 0 or -ENOMEM. */
int cq_event_begin_wait(struct model *model, const struct trace_event *event, uint64_t channel);
void cq_event_end_wait(struct model *model, const struct trace_event *event, struct life *cq);

/* @process ends at @time; 0: drop the state of all processes. */
void cq_event_end_process(struct model *model, uint32_t process, int64_t time);

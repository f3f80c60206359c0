#pragma once
/*
 * Completions that wait in a CQ while a thread waits for its event.
 *
 * A completion is known to be in the CQ once the other end has polled the completion of the
 * corresponding send, until it is polled itself. This works for connected queue pairs with both
 * ends in the trace; if events are missing nothing is known.
 *
 * One thread.
 */
#include "analyzer/model/lives.h"

struct model;
struct queue_request;

/* The state of a CQ with a channel. */
struct wake {
	struct moment armed, polled; /* the last known arming and poll; id 0:0: none */
	bool is_armed;               /* and no event was got since */
	bool solicited;              /* armed for solicited events only */
	uint64_t lying;              /* completions */
	uint64_t asked;              /* completions of solicited messages, since the CQ was empty */
	/* when the first of them arrived, or remained after the last poll */
	int64_t since;
};

/* A call of ibv_get_cq_event() in progress. */
struct waiting {
	struct moment at;
	uint64_t channel;
	struct waiting *next;
};

/* A CQ was created, with or without @channel. 0 or -ENOMEM. */
int wake_made(struct life *cq, bool channel);

void wake_armed(struct life *cq, const struct trace_event *event);

/* A completion of @qp (NULL: not known) was polled; all completions of the poll were passed. */
void wake_complete(struct model *model, const struct trace_event *event, const struct wc *wc,
		   struct life *qp, const struct queue_request *request);
void wake_polled(struct life *cq, const struct trace_event *event);

/* Drop the completions of @qp: it was reset, or is about to be destroyed. */
void wake_reset(struct model *model, struct life *qp);

/* ibv_get_cq_event() begins; it returns with an event of @cq (NULL: without one). 0 or -ENOMEM. */
int wake_waits(struct model *model, const struct trace_event *event, uint64_t channel);
void wake_got(struct model *model, const struct trace_event *event, struct life *cq);

/* @process ends at @time; 0: drop the state of all processes. */
void wake_end(struct model *model, uint32_t process, int64_t time);

#pragma once
/*
 * Completions that lie in a CQ while a thread waits for its event.
 *
 * A completion is known to lie there when the other end has polled that of the send which it
 * received, and it was not polled itself: for connected queue pairs whose both ends are in the
 * trace. Where events are missing nothing is known.
 *
 * One thread.
 */
#include "analyzer/model/lives.h"

struct model;
struct queue_request;

/* Of a CQ with a channel. */
struct wake {
	struct moment armed, polled; /* the last of each that is known; id 0:0: none */
	bool is_armed;               /* and no event of it was got since */
	uint64_t lying;              /* completions */
	int64_t since;               /* the first of them lay there, or stayed at the last poll */
};

/* A call of ibv_get_cq_event() that has begun. */
struct waiting {
	struct moment at;
	uint64_t channel;
	struct waiting *next;
};

/* A CQ was made; on @channel. 0 or -ENOMEM. */
int wake_made(struct life *cq, bool channel);

void wake_armed(struct life *cq, const struct trace_event *event);

/* A completion was polled, of @qp (NULL: not known); then the whole poll was taken. */
void wake_complete(struct model *model, const struct trace_event *event, const struct wc *wc,
		   struct life *qp, const struct queue_request *request);
void wake_polled(struct life *cq, const struct trace_event *event);

/* The completions of @qp are gone: it was reset, or is about to be destroyed. */
void wake_reset(struct model *model, struct life *qp);

/* ibv_get_cq_event() begins, and returns with an event of @cq (NULL: with none). 0 or -ENOMEM. */
int wake_waits(struct model *model, const struct trace_event *event, uint64_t channel);
void wake_got(struct model *model, const struct trace_event *event, struct life *cq);

/* @process ends at @time; 0: forget those of all processes. */
void wake_end(struct model *model, uint32_t process, int64_t time);

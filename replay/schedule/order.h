#pragma once
/*
 * The events of a trace in the order in which they are replayed.
 *
 * That is the order of their times, except for calls that overlapped: these are placed where the
 * recorded outcomes are possible. To find these places, some thousand events are read ahead.
 *
 * Used by one thread.
 */
#include "core/store/read/trace.h"
#include "replay/schedule/relations.h"

struct map;

struct ordered_event {
	const struct trace_event *event;
	const struct trace_event *origin; /* the source's event to release; or NULL */
	bool stops; /* a post: a request of it failed, which stopped the queue pair, or its peer */
};

/* The source of the events, in the order of their times. */
struct order_source {
	/* Returns the next event, as reader_next() does. */
	int (*next)(void *arg, const struct trace_event **ret_event);
	void (*release)(void *arg, const struct trace_event *event);
	/* Must events be released before more are read? */
	bool (*is_short)(void *arg);
	void *arg;
	/* The time of the last event of @process; INT64_MAX: not known, or it did not end. */
	int64_t (*last_time)(void *arg, uint32_t process);
	int64_t soonest; /* last_time() of the process that ended first */
	/* The object with @rkey in @process at @time, if a call destroyed it; or NULL. */
	const struct object *(*destroyed)(void *arg, uint32_t process, uint32_t rkey, int64_t time);
	/* The object with number @id; NULL if there is none. */
	const struct object *(*object)(void *arg, uint32_t id);
	/* event_key() of rdma_connect() to the later rdma_listen() that got its request; or NULL */
	const struct map *heard;
};

struct order;

/* @relations: used only by the order, which adds the events to it. Returns 0 or -ENOMEM. */
int order_new(const struct order_source *source, struct relations *relations,
	      struct order **ret_order);

/* Accepts NULL. */
void order_free(struct order *order);

/* The next event: 1, 0 at the end, or -errno. It is valid until it is released. */
int order_next(struct order *order, struct ordered_event *ret_event);

void order_release(const struct order *order, const struct ordered_event *event);

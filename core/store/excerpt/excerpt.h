#pragma once
/*
 * An excerpt: a part of a trace, as a trace.
 *
 * What is in it is as it was there: the names of events (T:N) and of objects (qp2), times, handles,
 * stacks, bytes. It is whole in itself: an object is in it if a call that is in it names it, and a
 * completion if its request is, as long as the choice sees to that.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct trace;

/* What a choice is asked about. */
enum excerpt_kind {
	EXCERPT_CALL,  /* a control verb, with its return */
	EXCERPT_EVENT, /* a fork, a mark, memory, misuse */
	EXCERPT_POST,
	EXCERPT_POLL,
	EXCERPT_NOTIFY,
	EXCERPT_REQUEST,    /* of a post that is in it */
	EXCERPT_COMPLETION, /* of a poll that is in it */
};

struct excerpt_item {
	enum excerpt_kind kind;
	struct event_id id;
	uint32_t i;       /* of a request or a completion */
	uint32_t process; /* 0: not known */
	int64_t time;     /* of a call: when it began */
	uint64_t handle;  /* of the data plane: queue or CQ */
	bool srq, wq;     /* what @handle of a post is, if no QP */
	uint32_t object;  /* of a call: what it acted on or made; 0 */
	bool of_events;   /* of a call: it gets or acknowledges those of a CQ */
	uint32_t qp_num;  /* of a completion */
};

/* A place in the order of all events. */
struct excerpt_place {
	int64_t time;
	struct event_id id; /* thread 0: behind all */
};

struct excerpt {
	/* Is it in? NULL: all is. A post or poll of which no row is left is not. */
	bool (*has)(void *arg, const struct excerpt_item *item);
	void *arg;
	/* Later events are not; of a call whose return is later, only its begin is. */
	struct excerpt_place until;
	/* The data plane begins there, in the sense of meta.cut; INT64_MIN: it has no such cut. */
	int64_t cut;
	const char *what; /* for meta.excerpt: "until 1:60 of t.db" */
	bool scratch;     /* of no worth after a crash: need not be on the disk */
};

/* An excerpt of all of a trace. */
#define EXCERPT_ALL                                                            \
	(struct excerpt)                                                       \
	{                                                                      \
		.until = { INT64_MAX, { 0 } }, .cut = INT64_MIN, .what = "all" \
	}

/* How much came into it. */
struct excerpt_size {
	uint64_t events, of; /* that a cursor gives; of a call two */
	uint32_t objects, of_objects;
};

/* The place of @id, of a call that of its begin or its return. 1, 0 if there is none, or -errno. */
int excerpt_find(struct trace *trace, struct event_id id, bool begin,
		 struct excerpt_place *ret_place);

/* Is an event of @id at @time within? */
bool excerpt_reaches(const struct excerpt *excerpt, struct event_id id, int64_t time);

/*
 * Write the excerpt of @trace as @to, which may lie there as for writer_create(): it is written
 * beside it and renamed at the end, so that a failure leaves what was there. @ret_size may be NULL.
 * Memory grows with processes, threads and objects, and with the calls of one thread that
 * overlap. 0 or -errno after log_err().
 */
int excerpt_write(struct trace *trace, const struct excerpt *excerpt, const char *to,
		  struct excerpt_size *ret_size);

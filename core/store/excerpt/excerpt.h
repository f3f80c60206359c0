#pragma once
/*
 * An excerpt: a part of a trace, as a trace.
 *
 * Its contents are unchanged: the names of events (T:N) and of objects (qp2), times, handles,
 * stacks, bytes. It is self-contained: it has each object that one of its calls uses. It has the
 * request of each completion if the choice includes both.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct trace;

/* The kinds of items that a choice includes or excludes. */
enum excerpt_kind {
	EXCERPT_CALL,  /* a control verb, with its return */
	EXCERPT_EVENT, /* a fork, a mark, memory, misuse */
	EXCERPT_POST,
	EXCERPT_POLL,
	EXCERPT_NOTIFY,
	EXCERPT_REQUEST,    /* a work request of an included post */
	EXCERPT_COMPLETION, /* a completion of an included poll */
};

struct excerpt_item {
	enum excerpt_kind kind;
	struct event_id id;
	uint32_t i;       /* index of a request or a completion in its event */
	uint32_t process; /* 0: not known */
	int64_t time;     /* of a call: when it began */
	uint64_t handle;  /* of the data plane: handle of the queue or CQ */
	bool srq, wq;     /* a post: @handle is an SRQ or a WQ, not a QP */
	uint32_t object;  /* of a call: the object that it used or created; 0: none */
	bool of_events;   /* a call that gets or acknowledges CQ events */
	uint32_t qp_num;  /* of a completion: QP number */
};

/* A position in the order of all events. */
struct excerpt_place {
	int64_t time;
	struct event_id id; /* thread 0: after all events */
};

struct excerpt {
	/*
	 * Is @item included? NULL: all items are. A post or poll without any included row is
	 * excluded.
	 */
	bool (*has)(void *arg, const struct excerpt_item *item);
	void *arg;
	/* Later events are excluded; if a call returns later, only its begin is included. */
	struct excerpt_place until;
	/*
	 * The data plane begins at this time, as meta.cut defines it; INT64_MIN: at its first
	 * event.
	 */
	int64_t cut;
	const char *what; /* for meta.excerpt: "until 1:60 of t.db" */
	bool scratch;     /* a temporary file: it need not be synced to the disk */
};

/* An excerpt that is the whole trace. */
#define EXCERPT_ALL                                                            \
	(struct excerpt)                                                       \
	{                                                                      \
		.until = { INT64_MAX, { 0 } }, .cut = INT64_MIN, .what = "all" \
	}

/* How many events and objects are included, and how many the whole trace has. */
struct excerpt_size {
	uint64_t events, of; /* counted as trace_events() does */
	uint32_t objects, of_objects;
};

/*
 * Find the position of @id; of a call, of its begin or its return. 1, 0 if there is no such event,
 * or -errno.
 */
int excerpt_find(struct trace *trace, struct event_id id, bool begin,
		 struct excerpt_place *ret_place);

/* Is event @id at @time included by excerpt->until? */
bool excerpt_includes_time(const struct excerpt *excerpt, struct event_id id, int64_t time);

/*
 * Write the excerpt of @trace as @to, replacing an existing trace as writer_create() does: a new
 * file beside @to is renamed at the end, so that a failure does not change the old one. @ret_size
 * may be NULL. Memory grows with processes, threads and objects, and with the calls of one thread
 * that overlap. 0 or -errno after log_err().
 */
int excerpt_write(struct trace *trace, const struct excerpt *excerpt, const char *to,
		  struct excerpt_size *ret_size);

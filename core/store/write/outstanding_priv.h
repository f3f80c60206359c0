#pragma once
/*
 * Internals of outstanding.c (queues), outstanding_early.c (completions before their posts),
 * outstanding_stream.c (messages), outstanding_list.c (the result), outstanding_forget.c (what has
 * ended). Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/store/write/outstanding.h"

#define STALE_NS INT64_C(1000000000) /* after this time an event is no longer expected */

/* A polled completion. */
struct completion {
	struct event_place at;
	uint64_t cq;
	uint32_t index;
	uint8_t flags;
	struct event_wc wc;
	struct event_wc_extra extra;
};

struct request {
	struct event_place at;
	uint64_t object; /* handle of the queue of its post */
	uint32_t verb, index, dest;
	bool signaled, message, hidden; /* hidden: its post has no event */
	bool done;
	struct completion completion; /* valid if done and signaled */
	size_t bytes;
	struct event_wr wr; /* with its parts and elements */
};

/* A ring of requests, oldest first. */
struct request_list {
	struct request **ring;
	uint32_t first, count, size; /* size is 0 or a power of two */
};

/* A queue pair or a shared receive queue; an SRQ has only rq. */
struct queue {
	uint32_t process;
	uint64_t handle;
	struct outstanding_qp qp;
	bool is_qp;
	uint64_t cq; /* CQ of an XRC SRQ */
	uint32_t dest;
	struct request_list sq, rq;
	struct request *failed;
	struct queue *same_number;   /* another queue pair of the process with this number */
	struct queue *after, **link; /* links of the list of all queues */
};

struct stream {
	uint32_t from, to;
	bool datagrams;
	bool unseen; /* its sender bypasses the verbs, or is not recorded */
	/* messages that are complete at one end only; at most one list is not empty */
	struct request_list sends, receives;
	/* messages before these, counted but not stored, as the peer seemed not to be recorded */
	uint64_t dropped;
	bool dropped_receives;
	int64_t dropped_at; /* ns: time of the last dropped message */
	int64_t last;       /* ns: when the last message completed at one end */
	struct stream *after, **link;
};

/* Completions of a queue pair number that were read before their posts. */
struct early_completions {
	uint32_t process, number;
	struct request_list list; /* only the completions of these requests are used */
	struct early_completions *after;
};

struct armed_cq {
	uint32_t process;
	uint64_t cq;
	size_t index; /* in outstanding.armed */
	struct event_place at;
	struct event_notify notify;
	int64_t fetched;
};

struct outstanding {
	struct map by_handle; /* to struct queue */
	/* process and qp_num: to the first queue pair with this number */
	struct map by_number;
	struct map ends;        /* ends of streams that are recorded, as keys: stream_sender() */
	struct map by_pair;     /* sender and receiver: to struct stream */
	struct map by_cq;       /* to struct armed_cq */
	struct queue *queues;   /* list of all queues */
	struct stream *streams; /* list of all streams */
	struct armed_cq **armed;
	size_t narmed;
	struct map early_by_number;      /* process, qp_num: to struct early_completions */
	struct early_completions *early; /* list of all */
	uint32_t nearly;                 /* number of all early completions */
};

static inline struct request *request_list_at(const struct request_list *list, uint32_t i)
{
	return list->ring[(list->first + i) & (list->size - 1)];
}

/* Returns 0 or -ENOMEM. */
int request_list_push(struct request_list *list, struct request *request);

/* Remove the request at index @at, usually near the front: the requests before it are moved up. */
struct request *request_list_take(struct request_list *list, uint32_t at);

void request_list_clear(struct request_list *list);

static inline uint64_t outstanding_handle_key(uint32_t process, uint64_t handle)
{
	return handle ^ (uint64_t)process << 47;
}

static inline uint64_t outstanding_pair_key(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* An end of a stream: qp_num, and that of the peer if connected; of any process. */
static inline uint64_t stream_sender(const struct stream *stream)
{
	return outstanding_pair_key(stream->from, stream->datagrams ? 0 : stream->to);
}

static inline uint64_t stream_receiver(const struct stream *stream)
{
	return outstanding_pair_key(stream->to, stream->datagrams ? 0 : stream->from);
}

static inline bool outstanding_has_end(const struct map *ends, uint64_t end)
{
	uint64_t unused;

	return map_get(ends, end, &unused);
}

static inline void *outstanding_entry(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

/* Completes the request of a completion. Returns 1; 0: the request is not known; or -ENOMEM. */
typedef int end_fn(struct outstanding *o, const struct completion *completion);

/* Add a completion whose post has not been read yet. Returns 0 or -ENOMEM. */
int early_add(struct outstanding *o, const struct completion *completion);

/* A post to @queue was read: match completions that were read before the post. 0 or -ENOMEM. */
int early_match(struct outstanding *o, const struct queue *queue, int64_t now, end_fn *end);

/* Is the post of an early completion still expected at @time? */
bool early_is_awaited(const struct outstanding *o, int64_t time);

/* Forget numbers without early completions, and those of dead queue pairs before @time. */
void early_forget(struct outstanding *o, int64_t time);

void early_fini(struct outstanding *o);

/* @request of @qp has completed successfully. Takes ownership of @request. Returns 0 or -ENOMEM. */
int stream_note_completion(struct outstanding *o, const struct queue *qp, struct request *request,
			   bool receive);

/*
 * From @time on, @number belongs to a new queue pair, or to one in RESET: drop its streams. Later
 * events of its peer may have been read already.
 */
void stream_forget(struct outstanding *o, uint32_t number, int64_t time);

/* Are both ends of the stream recorded? */
bool stream_has_both_ends(const struct outstanding *o, const struct stream *stream);

/* Is there still a queue pair that may receive the stream's messages? */
bool stream_has_receiver(const struct outstanding *o, const struct stream *stream);

/* Were messages received long ago without a post? Then the sender bypassed the verbs. */
bool stream_is_unseen(const struct outstanding *o, const struct stream *stream, int64_t time);

/* Has the post of each message that was received been read? */
bool stream_is_all_posted(const struct outstanding *o);

/* Stop following @stream. */
void stream_mark_unseen(struct stream *stream);

void stream_free(struct outstanding *o, struct stream *stream);

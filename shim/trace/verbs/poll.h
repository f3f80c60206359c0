#pragma once
/*
 * Polls of completion queues: their completions, and counts of empty polls.
 */
#include <infiniband/verbs.h>

#include "shim/trace/ring/record.h"

/* The counter of @cq in this thread's ring; NULL: there are too many. */
struct ring_polls *poll_counter(const void *cq);

/*
 * Write the current completion of an iterator. @flags: EVENT_START or EVENT_NEXT. @extra may be
 * NULL.
 */
void poll_write_one(const struct ibv_cq *cq, uint8_t flags, const struct ibv_wc *wc,
		    const struct event_wc_extra *extra);

/* Is a call stack recorded for a poll that returns a completion with @status? */
bool poll_takes_stack(enum ibv_wc_status status);

/*
 * Like poll_write_one(), with a call stack: for a completion in error, or for a failed poll (@wc is
 * NULL, @ret negative).
 */
void poll_write_error(const struct ibv_cq *cq, uint8_t flags, int ret, const struct ibv_wc *wc);

static inline struct ring_polls *poll_slot(const void *cq)
{
	uint64_t key = (uint64_t)(uintptr_t)cq;
	uint64_t at = (key >> 4) * 0x9e3779b97f4a7c15ull >> 58; /* 0..RING_POLLS - 1 */
	struct ring_polls *slot = &recorder.ring.head->polls[at];

	if (__builtin_expect(atomic_load_explicit(&slot->cq, memory_order_relaxed) == key, 1))
		return slot;
	return poll_counter(cq);
}

/* Count an empty poll. Only this thread writes the counter, so no read-modify-write is needed. */
static inline void poll_count(const void *cq)
{
	struct ring_polls *slot = poll_slot(cq);
	_Atomic uint64_t *count = slot ? &slot->empty : &recorder.ring.head->uncounted;
	uint64_t n = atomic_load_explicit(count, memory_order_relaxed);

	atomic_store_explicit(count, n + 1, memory_order_relaxed);
}

/* The slow path of poll_record(). Returns @ret. */
int poll_record_rest(const struct ibv_cq *cq, int room, int ret, const struct ibv_wc *wc);

/*
 * Record the result of a poll into an array of @room completions, and return it. An empty poll is
 * only counted.
 */
static inline int poll_record(const struct ibv_cq *cq, int room, int ret, const struct ibv_wc *wc)
{
	uint32_t now = recording_generation();

	if (__builtin_expect(ret == 0 && recorder.generation == now, 1)) {
		poll_count(cq);
		return 0;
	}
	return now == RECORDING_OFF ? ret : poll_record_rest(cq, room, ret, wc);
}

/* Record ibv_req_notify_cq(). @ticks: time before the verb was called. */
void poll_record_notify(const struct ibv_cq *cq, int solicited_only, int ret, uint64_t ticks);

/* The CQ at this address was destroyed: write its counters. */
void poll_forget(const struct ibv_cq *cq);

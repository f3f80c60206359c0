/*
 * Polls of completion queues
 *
 * A program that waits by polling finds nothing tens of millions of times a second. Such polls are
 * counted, by CQ, in the head of the thread's ring, where the collector reads the number even if
 * the program is killed; the event of the next poll that returns completions has the count.
 *
 * When a CQ is destroyed, its counters in all threads are written as events, and marked as unused:
 * another CQ at the same address starts from 0.
 *
 * A poll that fails, or returns an error other than a flush, is followed by its call stack: one for
 * all its completions. Flushes occur by the thousand, and are caused by an earlier error or by the
 * program.
 */
#include "shim/trace/verbs/poll.h"

#include <errno.h>
#include <string.h>

#include "shim/trace/base/defined.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/stack/stack.h"
#include "shim/trace/verbs/filter.h"
#include "shim/trace/verbs/stop.h"

enum { EVENT_WCS = 1024, FILTERED_WCS = 32 };

_Static_assert(sizeof(struct event_wc) == sizeof(struct ibv_wc), "copied as it is");
_Static_assert(RING_POLLS == 64, "poll_slot() takes 6 bits");

struct ring_polls *poll_counter(const void *cq)
{
	uint64_t key = (uint64_t)(uintptr_t)cq;
	uint64_t start = (key >> 4) * 0x9e3779b97f4a7c15ull >> 58;
	struct ring_polls *free_slot = NULL;

	for (unsigned int i = 0; i < RING_POLLS; i++) {
		struct ring_polls *slot = &recorder.ring.head->polls[(start + i) % RING_POLLS];
		uint64_t has = atomic_load_explicit(&slot->cq, memory_order_relaxed);

		if (has == key)
			return slot;
		if (has <= RING_POLLS_GONE && !free_slot)
			free_slot = slot;
		if (!has)
			break;
	}
	if (free_slot) {
		atomic_store_explicit(&free_slot->empty, 0, memory_order_relaxed);
		atomic_store_explicit(&free_slot->cq, key, memory_order_relaxed);
	}
	return free_slot;
}

static inline void fill_poll(struct event_poll *event, const struct ibv_cq *cq, int ret,
			     uint32_t nwc)
{
	struct ring_polls *slot = poll_slot(cq);

	record_head(&event->head, EVENT_POLL, record_ticks());
	event->cq = (uint64_t)(uintptr_t)cq;
	event->empty = slot ? atomic_load_explicit(&slot->empty, memory_order_relaxed) : 0;
	event->ret = ret;
	event->nwc = nwc;
}

/* The number that record_commit() will give to the reserved event. */
static uint32_t next_seq(void)
{
	return recorder.ring.seq + 1;
}

bool poll_takes_stack(enum ibv_wc_status status)
{
	if (status == IBV_WC_WR_FLUSH_ERR)
		return stop_asks_for_flushes();
	return status != IBV_WC_SUCCESS;
}

/* Does one of the completions require that a call stack is recorded? */
static bool has_error(const struct ibv_wc *wc, uint32_t nwc)
{
	for (uint32_t i = 0; i < nwc; i++)
		if (poll_takes_stack(wc[i].status))
			return true;
	return false;
}

static enum verb verb_of(uint8_t flags)
{
	return flags & EVENT_START  ? VERB_start_poll
	       : flags & EVENT_NEXT ? VERB_next_poll
				    : VERB_poll_cq;
}

/* Write a poll with its stack. Returns the number of the event; 0: it is lost. */
static __attribute__((noinline)) uint32_t put_with_stack(const struct ibv_cq *cq, uint8_t flags,
							 int ret, const struct ibv_wc *wc,
							 uint32_t nwc)
{
	const size_t completions = nwc * sizeof(*wc);
	struct event_stack *behind;
	struct event_poll *event;
	struct stack stack;
	int saved = errno;
	uint32_t seq;

	stack_take(&stack);
	errno = saved;
	event = record_reserve(sizeof(*event) + completions + sizeof(*behind) +
			       sizeof(stack.frames));
	if (!event)
		return 0;
	seq = next_seq();
	fill_poll(event, cq, ret, nwc);
	event->head.flags |= (uint8_t)(flags | EVENT_STACK);
	if (nwc)
		memcpy(event + 1, wc, completions);
	behind = (void *)((char *)(event + 1) + completions);
	*behind = (struct event_stack){ .nframes = stack.nframes, .modules = stack.modules };
	memcpy(behind + 1, stack.frames, stack.nframes * sizeof(*stack.frames));
	record_commit(&event->head,
		      (sizeof(*event) + completions + sizeof(*behind)) / 8 + stack.nframes);
	stop_at_poll(verb_of(flags), ret, wc, nwc, &stack, seq);
	return seq;
}

/* Write a poll. Returns the number of the event; 0: it is lost. */
static inline __attribute__((always_inline)) uint32_t write_fixed_wcs(const struct ibv_cq *cq,
								      uint8_t flags, int ret,
								      const struct ibv_wc *wc,
								      uint32_t nwc)
{
	struct event_poll *event = record_reserve(sizeof(*event) + nwc * sizeof(*wc));
	unsigned int statuses = 0;
	uint32_t seq;

	if (!event)
		return 0;
	seq = next_seq();
	fill_poll(event, cq, ret, nwc);
	event->head.flags |= flags;
	for (uint32_t i = 0; i < nwc; i++) {
		memcpy((struct ibv_wc *)(event + 1) + i, wc + i, sizeof(*wc));
		statuses |= (unsigned int)wc[i].status;
	}
	if (__builtin_expect(statuses != IBV_WC_SUCCESS, 0) && has_error(wc, nwc)) {
		record_set_writing(NULL); /* give up the reservation */
		return put_with_stack(cq, flags, ret, wc, nwc);
	}
	record_commit(&event->head, (sizeof(*event) + nwc * sizeof(*wc)) / 8);
	return seq;
}

static void write_completions(const struct ibv_cq *cq, uint8_t flags, const struct ibv_wc *wc,
			      uint32_t nwc)
{
	uint32_t seq = write_fixed_wcs(cq, flags, (int)nwc, wc, nwc);

	if (payload_on)
		payload_capture_completions(cq, wc, nwc, seq);
}

/* Write the completions of a poll that the filter selects. */
static void write_filtered(const struct ibv_cq *cq, int ret, const struct ibv_wc *wc)
{
	bool take = filter_takes_poll();
	struct ibv_wc kept[FILTERED_WCS];
	uint32_t n = 0;

	for (int i = 0; i < ret; i++) {
		if (filter_takes_completion(cq, take, wc + i)) {
			kept[n++] = wc[i];
		} else if (payload_on) { /* payload must be in the order of completions */
			if (n)
				write_completions(cq, 0, kept, n);
			n = 0;
			payload_capture_completions(cq, wc + i, 1, 0);
		}
		if (n && (n == FILTERED_WCS || i == ret - 1)) {
			write_completions(cq, 0, kept, n);
			n = 0;
		}
	}
}

/* Completions that do not fit into one event are written as several polls. */
static __attribute__((noinline)) void write_special(const struct ibv_cq *cq, uint8_t flags, int ret,
						    const struct ibv_wc *wc)
{
	if (recorder.filter && ret > 0) {
		write_filtered(cq, ret, wc);
		return;
	}
	if (ret < 0)
		put_with_stack(cq, 0, ret, NULL, 0);
	for (int at = 0; at < ret; at += EVENT_WCS) {
		int n = ret - at < EVENT_WCS ? ret - at : EVENT_WCS;

		write_completions(cq, at + n == ret ? flags : 0, wc + at, (uint32_t)n);
	}
}

int poll_record_rest(const struct ibv_cq *cq, int room, int ret, const struct ibv_wc *wc)
{
	uint8_t flags = ret == room ? EVENT_FILLED : 0;

	if (!record_ready())
		return ret;
	if (ret > 0)
		defined_bytes(wc, (size_t)ret * sizeof(*wc));
	if (!ret)
		poll_count(cq);
	else if (__builtin_expect(ret < 0 || ret > EVENT_WCS || recorder.special, 0))
		write_special(cq, flags, ret, wc);
	else
		write_fixed_wcs(cq, flags, ret, wc, (uint32_t)ret);
	return ret;
}

static inline __attribute__((always_inline)) void
write_event(struct event_poll *event, size_t bytes, const struct ibv_cq *cq, uint8_t flags,
	    const struct ibv_wc *wc, const struct event_wc_extra *extra)
{
	fill_poll(event, cq, 1, 1);
	event->head.flags |= (uint8_t)(flags | (extra ? EVENT_EXTRA : 0));
	memcpy(event + 1, wc, sizeof(*wc));
	if (extra)
		memcpy((struct ibv_wc *)(event + 1) + 1, extra, sizeof(*extra));
	record_commit(&event->head, bytes / 8);
}

static inline __attribute__((always_inline)) void
write_completion(const struct ibv_cq *cq, uint8_t flags, const struct ibv_wc *wc,
		 const struct event_wc_extra *extra)
{
	size_t bytes = sizeof(struct event_poll) + sizeof(*wc) + (extra ? sizeof(*extra) : 0);
	bool left_out = __builtin_expect(recorder.filter != NULL, 0) &&
			!filter_takes_completion(cq, filter_takes_poll(), wc);
	struct event_poll *event = left_out ? NULL : record_reserve(bytes);
	uint32_t seq = event ? next_seq() : 0;

	if (event)
		write_event(event, bytes, cq, flags, wc, extra);
	if (__builtin_expect(payload_on, 0))
		payload_capture_completions(cq, wc, 1, seq);
}

/* Write one completion. The most common case is first, with lengths that the compiler knows. */
void poll_write_one(const struct ibv_cq *cq, uint8_t flags, const struct ibv_wc *wc,
		    const struct event_wc_extra *extra)
{
	if (__builtin_expect(!extra, 1))
		write_completion(cq, flags, wc, NULL);
	else
		write_completion(cq, flags, wc, extra);
}

void poll_write_error(const struct ibv_cq *cq, uint8_t flags, int ret, const struct ibv_wc *wc)
{
	bool left_out =
		recorder.filter && wc && !filter_takes_completion(cq, filter_takes_poll(), wc);
	uint32_t seq = left_out ? 0 : put_with_stack(cq, flags, ret, wc, !!wc);

	if (payload_on && wc)
		payload_capture_completions(cq, wc, 1, seq);
}

void poll_record_notify(const struct ibv_cq *cq, int solicited_only, int ret, uint64_t ticks)
{
	struct event_notify *event;
	uint32_t seq;

	if (!record_ready() || (recorder.filter && !filter_takes_notify(cq)))
		return;
	event = record_reserve(sizeof(*event));
	if (!event)
		return;
	record_head(&event->head, EVENT_NOTIFY, ticks);
	event->cq = (uint64_t)(uintptr_t)cq;
	event->solicited_only = solicited_only;
	event->ret = ret;
	seq = next_seq();
	record_commit(&event->head, sizeof(*event) / 8);
	if (__builtin_expect(ret, 0))
		stop_at_data(VERB_req_notify_cq, ret, seq);
}

static void write_count(const struct ring_head *head, const struct ring_polls *slot)
{
	struct event_count *event = record_reserve(sizeof(*event));

	if (!event)
		return;
	record_head(&event->head, EVENT_COUNT, record_ticks());
	event->ring = head->index;
	event->tid = atomic_load(&head->owner);
	event->cq = atomic_load_explicit(&slot->cq, memory_order_relaxed);
	event->empty = atomic_load_explicit(&slot->empty, memory_order_relaxed);
	record_commit(&event->head, sizeof(*event) / 8);
}

static void forget_in_ring(struct ring_head *head, void *arg)
{
	for (unsigned int i = 0; i < RING_POLLS; i++) {
		struct ring_polls *slot = &head->polls[i];

		if (atomic_load_explicit(&slot->cq, memory_order_relaxed) !=
		    (uint64_t)(uintptr_t)arg)
			continue;
		write_count(head, slot);
		atomic_store_explicit(&slot->cq, RING_POLLS_GONE, memory_order_relaxed);
	}
}

void poll_forget(const struct ibv_cq *cq)
{
	int saved = errno;

	if (record_ready())
		rings_each(forget_in_ring, (void *)(uintptr_t)cq);
	errno = saved;
}

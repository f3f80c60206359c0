/*
 * Rings of threads: each gets one at its first verb
 *
 *	first verb --> thread_make_ring(): the ring of a thread that has ended, or
 *	               a new one
 *	the end    --> thread_end(): the ring becomes free
 *
 * Not here: the list of rings (rings.c), preparations before a ring (start.c).
 */
#include "shim/trace/process/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/base/tap.h"
#include "shim/trace/base/undo.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/builder.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/stack/site.h"

static pthread_key_t key;

void thread_end(void *unused)
{
	struct ring *ring = &recorder.ring;
	bool torn;

	(void)unused;
	if (recorder.vfork)
		CALL_BACK(record_start)(); /* the vfork() child that ran in this thread has ended */
	builder_thread_end();
	site_end();
	if (ring->head && undo_is_on() && recording_is_off())
		rings_drop_shared(ring);
	if (!ring->head || recorder.generation != recording_generation())
		return;
	recorder.busy = true; /* from now on a verb that a signal handler calls gets no ring */
	torn = recorder.writing !=
	       NULL; /* the thread was ended inside an event, by cancellation or a signal handler */
	if (torn)
		record_drop();
	else if (recorder.held)
		record_publish();
	recorder.generation = RECORD_NO_RING;
	recorder.depth = 0;
	recorder.cm_depth = 0;
	if (recorder.tap)
		recorder.tap->end(ring->head, &recording_session.page->clock);
	recorder.tap = NULL;
	rings_release(&recording_session, ring, record_ticks(), torn);
	recorder.busy = false;
}

bool thread_watch_ends(void)
{
	static atomic_bool watched;

	if (atomic_load(&watched))
		return true;
	recording_lock();
	if (!atomic_load(&watched))
		atomic_store(&watched, !pthread_key_create(&key, thread_end));
	recording_unlock();
	return atomic_load(&watched);
}

/* Copy the counts of empty polls of the ring's previous thread, for CQs that still exist. */
static uint32_t copy_poll_counts(struct ring_head *head, struct ring_polls *copy)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < RING_POLLS; i++) {
		if (head->polls[i].cq > RING_POLLS_GONE && head->polls[i].empty) {
			copy[n].cq = head->polls[i].cq;
			copy[n++].empty = head->polls[i].empty;
		}
		head->polls[i].cq = 0;
		head->polls[i].empty = 0;
	}
	return n;
}

static void write_thread(struct event_thread *event)
{
	struct ring_head *head = recorder.ring.head;

	record_head(&event->head, EVENT_THREAD, record_ticks());
	event->tid = (uint32_t)gettid();
	prctl(PR_GET_NAME, event->comm);
	event->dropped = atomic_exchange(&head->dropped, 0);
	event->drop_first = head->drop_first;
	event->drop_last = head->drop_last;
	event->in_handlers = atomic_exchange(&head->in_handlers, 0);
	event->uncounted = atomic_exchange(&head->uncounted, 0);
	event->filtered = atomic_exchange(&head->filtered, 0);
	event->ended = atomic_exchange(&head->ended, 0);
	event->npolls = copy_poll_counts(head, (struct ring_polls *)(event + 1));
	head->owner = event->tid;
	atomic_store_explicit(&head->inside, 0, memory_order_relaxed);
	record_commit(&event->head, sizeof(*event) / 8 + event->npolls * 2u);
	/* pairs with the load in find_gone_threads(): it then finds this thread as the owner */
	atomic_store_explicit(&head->idle, 0, memory_order_release);
}

/*
 * Take the ring of a thread that has ended. False: there is none, or it is full and this thread
 * must not wait.
 */
static bool take_over_ring(void)
{
	const size_t bytes = sizeof(struct event_thread) + RING_POLLS * sizeof(struct ring_polls);
	struct event_thread *event = NULL;

	if (!rings_take(&recorder.ring))
		return false;
	if (recording_session.page->on_full != ON_FULL_DROP || ring_has_room(&recorder.ring, bytes))
		event = record_reserve(bytes);
	if (!event) {
		recorder.stuck = false;
		rings_release(&recording_session, &recorder.ring, record_ticks(), false);
		return false;
	}
	recording_lock(); /* so that no other thread reads the counters in between */
	write_thread(event);
	recording_unlock();
	return true;
}

static bool make_new_ring(void)
{
	struct ring_head *head;

	if (rings_make(&recording_session, &recorder.ring))
		return false;
	head = recorder.ring.head;
	prctl(PR_GET_NAME, head->comm);
	/* pairs with the load in try_ring() */
	atomic_store_explicit(&head->ticks, record_ticks(), memory_order_release);
	atomic_fetch_add_explicit(&recording_session.page->made, 1, memory_order_relaxed);
	record_wake();
	return true;
}

static void begin_tap(void)
{
	recorder.tapped = recorder.ring.reserved;
	recorder.tap = tap_get();
	if (recorder.tap)
		recorder.tap->begin(recorder.ring.head, &recording_session.page->clock);
}

bool thread_make_ring(void)
{
	permit_begin_thread();
	/* after fork the ring belongs to the parent: this process does not use it */
	if (undo_is_on())
		rings_drop_shared(&recorder.ring);
	ring_close(&recorder.ring);
	recorder.held = 0;
	recorder.holds++;
	recorder.depth = 0;
	recorder.cm_depth = 0;
	recorder.writing = NULL;
	recorder.stuck = false;
	memset(&recorder.waits, 0, sizeof(recorder.waits));
	recorder.tap = NULL;
	site_begin();
	recorder.filter =
		recording_session.page->filter.on ? &recording_session.page->filter : NULL;
	recorder.special = recorder.filter || payload_on;
	if (!take_over_ring() && !make_new_ring())
		return false;
	recorder.gave_up = 0;
	recorder.lap = recorder.ring.reserved;
	recorder.lap_ticks = record_ticks();
	pthread_setspecific(key, &recorder);
	recorder.generation = recording_generation();
	begin_tap();
	return true;
}

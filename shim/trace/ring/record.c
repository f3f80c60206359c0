/*
 * How an event gets into its thread's ring
 *
 * An event whose verb is still running is held: it has its place, and what a
 * signal handler records meanwhile is put behind it; all of it is published
 * when the verb has returned. Should the ring fill up first, what is there is
 * published as it is.
 *
 * Not here: how a thread comes to a ring (thread.c), a full one (wait.c), what
 * events hold (call.c, post.c, poll.c, process.c).
 */
#include "shim/trace/ring/record.h"

#include <errno.h>
#include <stdatomic.h>

#include "shim/trace/ring/join.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/ring/tap.h"

void record_abandon(void)
{
	if (!record_on() || recorder.generation != record_generation())
		return;
	recorder.writing = false;
	if (recorder.held)
		record_publish();
}

void record_tap(void)
{
	struct ring *ring = &recorder.ring;
	int saved = errno;

	while (recorder.tapped != ring->reserved) {
		const struct event_head *event =
			(const void *)(ring->data + (recorder.tapped & ring->mask));

		/* first, so that a signal handler goes on behind it */
		recorder.tapped += event->words * 8u;
		atomic_store_explicit(&ring->head->tapped, event->seq, memory_order_relaxed);
		recorder.tap->event(ring->head, &join_session.page->clock, event);
	}
	if (session_is_alone(&join_session))
		ring_consume(ring);
	errno = saved;
}

static void tap_one_end(struct ring_head *head, void *unused)
{
	(void)unused;
	tap_get()->end(head, &join_session.page->clock);
}

/* exit() in a signal handler may have interrupted who holds the lock. */
void verbatim_tap_end(void)
{
	if (!record_generation() || !record_trylock())
		return;
	rings_each_locked(tap_one_end, NULL);
	record_unlock();
}

/* Are requests or completions not seen from now on? */
static bool hides_work(enum event_blind_what what)
{
	return what != BLIND_DM && what != BLIND_MODULES && what != BLIND_SITES;
}

void record_blind(enum event_blind_what what, const void *object)
{
	struct event_blind *event;

	if (payload_on && hides_work(what))
		payload_blind();
	if (!record_ready())
		return;
	event = record_reserve(sizeof(*event));
	if (!event)
		return;
	record_head(&event->head, EVENT_BLIND, record_ticks());
	event->what = what;
	event->pad = 0;
	event->object = (uint64_t)(uintptr_t)object;
	record_commit(&event->head, sizeof(*event) / 8);
}

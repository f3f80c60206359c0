/*
 * Writing an event into its thread's ring
 *
 * An event whose verb is still running is held: it has its position in the ring, and events that a
 * signal handler records meanwhile are written after it. All of them are published when the verb
 * has returned; if the ring is full earlier, they are published unfinished.
 *
 * A signal handler may leave a verb by longjmp(). Then a held event is published with the next
 * event, since the frame of its verb does not exist any more; an event that was being written is
 * discarded (blind.c).
 *
 * Not here: getting a ring (thread.c), a full ring (wait.c), the contents of events (call.c,
 * post.c, poll.c, process.c).
 */
#include "shim/trace/ring/record.h"

#include <errno.h>
#include <stdatomic.h>

__thread struct recorder recorder __attribute__((tls_model("initial-exec"))) = {
	.generation = RECORD_NO_RING,
	.ringless = RECORD_NO_RING,
};

_Atomic uint32_t record_clock;

static atomic_bool has_unseen;

void record_drop(void)
{
	ring_drop(&recorder.ring, record_ticks());
}

void record_drop_nested(void)
{
	record_drop();
	atomic_fetch_add_explicit(&recorder.ring.head->in_handlers, 1, memory_order_relaxed);
}

void record_abandon(void)
{
	if (!recording_is_on() || recorder.generation != recording_generation())
		return;
	recorder.writing = NULL;
	if (recorder.held)
		record_publish();
}

/*
 * The stack grows down, so an outer frame is above this one: that shows whether the frame of a held
 * event still exists.
 */
void record_end_hold(const void *frame)
{
	int saved = errno;

	if (recorder.hold_frame <= frame || CALL_BACK(record_is_left)(recorder.hold_frame))
		record_publish();
	errno = saved;
}

void record_pass_to_tap(void)
{
	struct ring *ring = &recorder.ring;
	int saved = errno;

	while (recorder.tapped != ring->reserved) {
		const struct event_head *event =
			(const void *)(ring->data + (recorder.tapped & ring->mask));

		/* count the event before the call, so that a signal handler continues after it */
		recorder.tapped += event->words * 8u;
		atomic_store_explicit(&ring->head->tapped, event->seq, memory_order_relaxed);
		recorder.tap->event(ring->head, &recording_session.page->clock, event);
	}
	if (session_is_alone(&recording_session))
		ring_consume(ring);
	errno = saved;
}

/* Threads without a ring call this at each verb, so the flag is written only when it changes. */
void record_set_unseen(bool unseen)
{
	if (record_has_unseen() != unseen)
		atomic_store_explicit(&has_unseen, unseen, memory_order_relaxed);
}

bool record_has_unseen(void)
{
	return atomic_load_explicit(&has_unseen, memory_order_relaxed);
}

/*
 * How an event gets into its thread's ring
 *
 * An event whose verb is still running is held: it has its place, and what a
 * signal handler records meanwhile is put behind it; all of it is published
 * when the verb has returned. If the ring fills up first, everything is
 * published as it is.
 *
 * A signal handler may leave a verb by longjmp(). An event that was held is
 * published when the next one is, for the frame of its verb is gone; one that
 * was being written is given up, and that it was is written.
 *
 * Not here: how a thread gets a ring (thread.c), a full ring (wait.c), what
 * events contain (call.c, post.c, poll.c, process.c).
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

void record_abandon(void)
{
	if (!recording_is_on() || recorder.generation != recording_generation())
		return;
	recorder.writing = NULL;
	if (recorder.held)
		record_publish();
}

/* The stack grows down: an outer frame lies above this one. Whether it lives is on the stack. */
void record_end_hold(const void *frame)
{
	int saved = errno;

	if (recorder.hold_frame <= frame || record_writer_is_gone(recorder.hold_frame))
		record_publish();
	errno = saved;
}

bool record_take_over(void)
{
	int saved = errno;
	bool gone = record_writer_is_gone(recorder.writing);

	errno = saved;
	if (!gone) {
		record_drop_nested();
		return false;
	}
	ring_repair(&recorder.ring);
	recorder.held = 0;
	recorder.holds++;
	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = NULL;
	record_blind(BLIND_JUMP, NULL);
	return true;
}

void record_tap(void)
{
	struct ring *ring = &recorder.ring;
	int saved = errno;

	while (recorder.tapped != ring->reserved) {
		const struct event_head *event =
			(const void *)(ring->data + (recorder.tapped & ring->mask));

		/* first, so that a signal handler continues behind it */
		recorder.tapped += event->words * 8u;
		atomic_store_explicit(&ring->head->tapped, event->seq, memory_order_relaxed);
		recorder.tap->event(ring->head, &recording_session.page->clock, event);
	}
	if (session_is_alone(&recording_session))
		ring_consume(ring);
	errno = saved;
}

/* Does it mean that requests or completions are not seen from now on? */
static bool hides_work(enum event_blind_what what)
{
	return what != BLIND_DM && what != BLIND_MODULES && what != BLIND_SITES &&
	       what != BLIND_SANDBOX;
}

void record_blind(enum event_blind_what what, const void *object)
{
	struct event_blind *event;

	if (hides_work(what))
		record_set_unseen(true);
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

void record_spawned(uint32_t seq, pid_t pid, int error)
{
	struct event_spawned *event = record_reserve(sizeof(*event));

	if (!event)
		return;
	record_head(&event->head, EVENT_SPAWNED, record_ticks());
	event->fork_seq = seq;
	event->pid = (int32_t)pid;
	event->error = error;
	event->pad = 0;
	record_commit(&event->head, sizeof(*event) / 8);
}

/* Threads without a ring call this at each verb, so the flag is written only where it changes. */
void record_set_unseen(bool unseen)
{
	if (record_has_unseen() != unseen)
		atomic_store_explicit(&has_unseen, unseen, memory_order_relaxed);
}

bool record_has_unseen(void)
{
	return atomic_load_explicit(&has_unseen, memory_order_relaxed);
}

/*
 * Events that report gaps in the recording, written between the events of verbs
 *
 * A signal handler may leave a verb by longjmp() while the verb's event is being written. That
 * event is discarded, and this is reported.
 */
#include <errno.h>
#include <stdatomic.h>

#include "shim/trace/ring/record.h"

/* Does @what mean that from now on requests or completions are not seen? */
static bool hides_work(enum event_blind_what what)
{
	return what != BLIND_DM && what != BLIND_MODULES && what != BLIND_SITES &&
	       what != BLIND_SANDBOX;
}

void record_report_blind(enum event_blind_what what, const void *object)
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

bool record_take_over(void)
{
	int saved = errno;
	bool gone = CALL_BACK(record_is_left)(recorder.writing);

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
	record_report_blind(BLIND_JUMP, NULL);
	return true;
}

void record_write_fork_result(uint32_t seq, pid_t pid, int error)
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

/*
 * A ring without room: the thread waits, drops, or its ring grows
 *
 * What is held is published first, or the reader could not give its room back.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/trace/join.h"
#include "shim/trace/record.h"
#include "shim/trace/thread.h"

enum {
	WAIT_NS = 50 * 1000,
	WAITS_BETWEEN_LOOKS = 2000, /* about 100 ms: is the collector alive? */
};

void record_drop(void)
{
	ring_drop(&recorder.ring, record_ticks());
}

void record_drop_nested(void)
{
	record_drop();
	atomic_fetch_add_explicit(&recorder.ring.head->in_handlers, 1, memory_order_relaxed);
}

/* Reads /proc with open() and read(), cancellation points, for a verb that may be none. */
static bool collector_died(void)
{
	struct session_page *page = join_session.page;
	bool alive;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	alive = session_process_alive((pid_t)page->collector, page->collector_start);
	pthread_setcancelstate(cancel, &cancel);
	if (!alive)
		atomic_store(&page->state, SESSION_ORPHAN);
	return !alive;
}

static void doze(void)
{
	struct timespec pause = { .tv_nsec = WAIT_NS };

	syscall(SYS_nanosleep, &pause, NULL); /* nanosleep() would be a cancellation point */
}

static int make_longer(struct ring *ring)
{
	char name[SESSION_NAME];
	int at = session_open_dir(&join_session), err;

	if (at < 0)
		return at;
	session_ring_name(ring->head->index, name);
	err = ring_grow(ring, at, name);
	close(at);
	return err;
}

/*
 * Nobody empties the ring: its file becomes longer, with all signals blocked,
 * since one would end posix_fallocate(). What could not be had once is not
 * asked for again: it would cost a system call an event.
 */
static bool grow(void)
{
	struct ring *ring = &recorder.ring;
	sigset_t mask;
	int cancel;

	if (!ring_must_move(ring, recorder.held))
		return true;
	if (recorder.held)
		record_publish();
	if (recorder.stuck || !session_running(&join_session))
		return false;
	thread_block_signals(&mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	recorder.stuck = !session_take(&join_session, ring->mask + 1) || make_longer(ring);
	pthread_setcancelstate(cancel, &cancel);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return !recorder.stuck;
}

/* The collector empties the ring, in time. */
static bool wait_for_room(size_t bytes)
{
	struct ring *ring = &recorder.ring;
	bool room = false;

	if (recorder.held)
		record_publish();
	for (unsigned int i = 1; join_session.page->on_full == ON_FULL_WAIT; i++) {
		session_wake(&join_session);
		room = ring_room(ring, bytes);
		if (room || !session_running(&join_session) || ring_is_gone(ring))
			break;
		if (i % WAITS_BETWEEN_LOOKS == 0 && collector_died())
			break;
		record_set_writing(false);
		doze();
		record_set_writing(true);
	}
	return room;
}

static bool wait_or_grow(size_t bytes)
{
	int saved = errno;
	bool room = join_session.page->on_full == ON_FULL_GROW ? grow() : wait_for_room(bytes);

	if (!room && !session_running(&join_session))
		join_end();
	if (!room) {
		record_drop();
		record_set_writing(false);
	}
	errno = saved;
	return room;
}

/* Also that much after the last time: a collector that sleeps is waken in time. */
bool record_room(size_t bytes)
{
	if (!ring_room(&recorder.ring, recorder.held + bytes))
		return wait_or_grow(bytes);
	session_wake(&join_session);
	return true;
}

/*
 * A full ring: it is extended, or the thread waits or drops the event
 *
 * A ring should hold all events that its thread writes while the collector sleeps. So it is
 * extended when it is full, and also when it was filled in less time than the collector may sleep:
 * otherwise its thread would wake the collector again and again.
 *
 * Held events are published first, since the reader cannot free their space otherwise.
 *
 * The waiting time is recorded as an event, written when there is space again, since it distorts
 * the program's times.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/base/quiet.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"

enum {
	WAIT_NS = 50 * 1000, /* first pause; doubled each time */
	/* longest pause: with many waiting threads, the collector still gets a processor */
	WAIT_MOST_NS = 12800 * 1000,
	WAIT_LEAST_NS = 1000,         /* shorter waits are not counted */
	CHECK_NS = 100 * 1000 * 1000, /* time between checks of whether the collector is alive */
	LAP_NS = 250 * 1000 * 1000,   /* longest sleep of the collector while there are rings */
};

void record_wake(void)
{
	if (permit_has(NEED_WAKE)) /* otherwise the collector wakes by its time limit */
		session_wake(&recording_session);
}

/*
 * Is the collector dead? It reads /proc by open() and read(), which are cancellation points; but a
 * verb must not be one.
 */
static bool collector_died(void)
{
	struct session_page *page = recording_session.page;
	bool alive;
	int cancel;

	if (!permit_has(NEED_LOOK))
		return false; /* --max-wait ends the wait */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	alive = session_has_collector(page);
	pthread_setcancelstate(cancel, &cancel);
	if (!alive)
		atomic_store(&page->state, SESSION_ORPHAN);
	return !alive;
}

static void sleep_for(uint64_t ns)
{
	struct timespec pause = { .tv_nsec = (long)ns };
	uint64_t until;

	if (!permit_has(NEED_PAUSE)) {
		until = clock_monotonic() + ns;
		while (permit_has(NEED_YIELD) && clock_monotonic() < until)
			sched_yield();
		return;
	}
	syscall(SYS_nanosleep, &pause, NULL); /* nanosleep() would be a cancellation point */
}

static int extend_ring(struct ring *ring)
{
	char name[SESSION_NAME];
	int at = permit_has(NEED_ROOM | NEED_QUIET) ? session_open_dir(&recording_session) : -EPERM,
	    err;

	if (at < 0)
		return at;
	session_ring_name(ring->head->index, name);
	err = ring_grow(ring, at, name);
	close(at);
	return err;
}

/*
 * Extend the file of a ring that is not read during the recording. All signals are blocked, since a
 * signal would interrupt posix_fallocate(). After a failure this is not tried again, which would
 * cost a system call for each event.
 */
static bool grow_ring(void)
{
	struct ring *ring = &recorder.ring;
	struct quiet quiet;

	if (!ring_must_move(ring, recorder.held))
		return true;
	if (recorder.held)
		record_publish();
	if (recorder.stuck || !session_is_running(&recording_session))
		return false;
	quiet_begin(&quiet);
	recorder.stuck = !session_reserve(&recording_session, ring->mask + 1) || extend_ring(ring);
	quiet_end(&quiet);
	return !recorder.stuck;
}

static void start_lap_clock(void)
{
	recorder.lap = recorder.ring.reserved;
	recorder.lap_ticks = record_ticks();
}

/* Continue in a larger area. Called when no event is held, or all are published. */
static bool widen_ring(bool must)
{
	int err;

	if (recorder.stuck || !ring_next_area_bytes(&recorder.ring) ||
	    !session_is_running(&recording_session) || !permit_has(NEED_ROOM | NEED_QUIET))
		return false;
	err = rings_widen(&recording_session, &recorder.ring, must);
	recorder.stuck = err && err != -EDQUOT;
	start_lap_clock();
	return !err;
}

/* Was the ring filled in less time than the collector may sleep? */
static bool lap_was_fast(void)
{
	const struct clock *clock = &recording_session.page->clock;
	uint64_t before = recorder.lap_ticks;

	if (!ring_next_area_bytes(&recorder.ring) ||
	    recorder.ring.reserved - recorder.lap <= recorder.ring.mask)
		return false;
	start_lap_clock();
	return clock_ns(clock, recorder.lap_ticks) - clock_ns(clock, before) < LAP_NS;
}

/* State of a thread that waits for the collector. */
struct patience {
	uint64_t pause;     /* next pause, ns */
	uint64_t looked_at; /* time of the last check of the collector, CLOCK_MONOTONIC, ns */
	uint64_t seen_at;   /* time of the last progress of the collector */
	uint64_t head, time;
	uint32_t rounds;
};

static uint64_t reader_position(void)
{
	return atomic_load_explicit(&recorder.ring.head->head, memory_order_relaxed);
}

static void init_patience(struct patience *p)
{
	*p = (struct patience){ .pause = WAIT_NS, .head = reader_position() };
	p->looked_at = p->seen_at = clock_monotonic();
	p->rounds = atomic_load(&recording_session.page->rounds);
}

/*
 * Does the collector make progress? Either this ring has fewer unread events, or the collector is
 * busy with other rings or the disk, which uses processor time. If the collector has visited all
 * rings without reading this one, it makes none.
 */
static bool has_reader_progress(struct patience *p)
{
	uint64_t head = reader_position(), time;
	uint32_t rounds = atomic_load(&recording_session.page->rounds);
	bool sees = head != p->head;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	time = permit_has(NEED_LOOK)
		       ? session_process_time((pid_t)recording_session.page->collector)
		       : 0;
	pthread_setcancelstate(cancel, &cancel);
	sees = sees || (rounds == p->rounds && time > p->time);
	p->head = head;
	p->rounds = rounds;
	p->time = time;
	return sees;
}

/*
 * May the thread wait any longer? False: the collector is dead, or made no progress for the time
 * that a thread may wait.
 */
static bool check_reader(struct patience *p)
{
	uint64_t now = clock_monotonic();
	const uint64_t most = recording_session.page->max_wait;

	if (now - p->looked_at < CHECK_NS && now - p->seen_at < most)
		return true;
	p->looked_at = now;
	if (collector_died())
		return false;
	if (has_reader_progress(p))
		p->seen_at = now;
	if (now - p->seen_at < most)
		return true;
	recorder.gave_up = p->head + 1;
	atomic_fetch_add(&recording_session.page->gave_up, 1);
	return false;
}

/*
 * Wait for the collector to free space. After a time-out, the thread does not wait again until the
 * collector has read something.
 */
static bool wait_for_room(size_t bytes)
{
	struct patience patience;
	bool room = false;

	if (recording_session.page->on_full != ON_FULL_WAIT ||
	    (!permit_has(NEED_PAUSE) && !permit_has(NEED_YIELD)) ||
	    recorder.gave_up == reader_position() + 1)
		return false;
	init_patience(&patience);
	while (session_is_running(&recording_session) && check_reader(&patience)) {
		record_wake();
		room = ring_has_room(&recorder.ring, bytes);
		if (room || ring_is_truncated(&recorder.ring))
			break;
		record_set_writing(NULL);
		sleep_for(patience.pause);
		record_set_writing(__builtin_frame_address(0));
		if (patience.pause < WAIT_MOST_NS)
			patience.pause *= 2;
	}
	return room;
}

/*
 * Wait for space. For an event that is longer than the whole ring, the ring is extended, regardless
 * of the budget.
 */
static bool wait_for_bytes(size_t bytes, bool *ret_waited)
{
	struct ring *ring = &recorder.ring;

	if (recorder.held)
		record_publish();
	while (!ring_has_room(ring, bytes)) {
		bool must = bytes > ring->mask + 1;

		if (widen_ring(must))
			continue;
		*ret_waited = !must;
		return !must && wait_for_room(bytes);
	}
	record_wake();
	return true;
}

/*
 * The thread has waited since @begin. Waits of a signal handler in between are counted separately;
 * @before: recorder.waits.ticks at @begin.
 */
static void count_wait(uint64_t begin, uint64_t before, enum event_waited_why why)
{
	const struct clock *clock = &recording_session.clock;
	uint64_t ticks = record_ticks() - begin - (recorder.waits.ticks - before);

	if (clock_ns(clock, begin + ticks) - clock_ns(clock, begin) < WAIT_LEAST_NS)
		return;
	recorder.waits.ticks += ticks;
	if (!recorder.waits.times++) {
		recorder.waits.begin = begin;
		recorder.waits.untold = 0;
	}
	recorder.waits.untold += ticks;
	recorder.waits.why = why;
}

/*
 * Write the event about waits, before the event of @bytes that did not fit. Not if the thread has
 * just got its ring, whose first event must identify its owner.
 */
static void report_waits(size_t bytes)
{
	struct ring *ring = &recorder.ring;
	struct event_waited *event;

	if (!recorder.waits.times || recorder.held || recorder.busy ||
	    !ring_has_room(ring, bytes + sizeof(*event)))
		return;
	event = (void *)(ring->data + (ring->reserved & ring->mask));
	record_head(&event->head, EVENT_WAITED, recorder.waits.begin);
	event->ticks = recorder.waits.untold;
	event->times = recorder.waits.times;
	event->why = recorder.waits.why;
	recorder.waits.times = 0;
	ring_commit(ring, &event->head, sizeof(*event) / 8);
}

static bool wait_or_grow(size_t bytes)
{
	int saved = errno;
	uint64_t begin = record_ticks(), before = recorder.waits.ticks;
	bool grows = recording_session.page->on_full == ON_FULL_GROW, waited = false;
	bool room = grows ? grow_ring() : wait_for_bytes(bytes, &waited);

	count_wait(begin, before, waited ? WAITED_ROOM : WAITED_LONGER);
	if (room)
		report_waits(bytes);
	if (!room && !session_is_running(&recording_session))
		recording_end();
	if (!room) {
		record_drop();
		record_set_writing(NULL);
	}
	errno = saved;
	return room;
}

/*
 * Also called each time when a part of the ring was filled, to wake a sleeping collector early
 * enough.
 */
bool record_make_room(size_t bytes)
{
	if (!ring_has_room(&recorder.ring, recorder.held + bytes))
		return wait_or_grow(bytes);
	if (__builtin_expect(!recorder.held && lap_was_fast(), 0)) {
		uint64_t begin = record_ticks(), before = recorder.waits.ticks;
		int saved = errno;

		if (widen_ring(false)) {
			ring_has_room(&recorder.ring, bytes);
			count_wait(begin, before, WAITED_LONGER);
		}
		errno = saved;
	}
	report_waits(bytes);
	record_wake();
	return true;
}

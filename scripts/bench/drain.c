/*
 * A thread that acts as the collector
 *
 * It sleeps while a row is timed, and empties the ring in between: so the ring never fills, and its
 * cache lines were in another core's cache, as in a real recording. drain_set() makes it read while
 * the row is timed, or not at all.
 */
#include "scripts/bench/drain.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "scripts/bench/sample.h"

#define FAR (1ull << 62) /* limit of a writer without a reader */

static struct session session;
static struct ring ring;
static pthread_t thread;
static sem_t wanted, done;
static atomic_int when = DRAIN_BETWEEN;
static atomic_bool ended;
static bool passed_over; /* by the writer, unread */
static unsigned int frames;
static int error;

static void open_ring(void)
{
	char path[SESSION_PATH + 16];

	session_ring_path(&session, 0, path);
	ring_open(&ring, path); /* -ENOENT until the first verb */
}

/* The events before the next one were not read: continue with its number. */
static void find_number(void)
{
	const struct event_head *event = ring_next(&ring);

	if (ring_is_read(&ring))
		return;
	ring.seq = event->seq - 1;
	passed_over = false;
}

static void empty_ring(void)
{
	const struct event_head *event;
	int bytes = 0;

	if (!ring.head)
		open_ring();
	if (!ring.head)
		return;
	if (passed_over)
		find_number();
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		if (event->type == EVENT_CALL)
			frames = ((const struct event_call *)event)->nframes;
		ring_step(&ring, (size_t)bytes);
	}
	ring_consume(&ring);
	if (bytes < 0)
		error = bytes;
}

enum { TRIPS = 500, SPINS = 20000 };

static struct {
	_Alignas(64) atomic_uint there;
	_Alignas(64) atomic_uint back;
} flag;

/* Both may be on one processor. */
static void wait_while(const atomic_uint *word, unsigned int value)
{
	for (unsigned int i = 1; atomic_load(word) == value; i++)
		if (i % SPINS == 0)
			sched_yield();
}

static void echo_flag(void)
{
	for (unsigned int i = 0; i < TRIPS; i++) {
		wait_while(&flag.there, i);
		atomic_store(&flag.back, i + 1);
	}
}

/* The thread's action on a request. */
static void (*_Atomic task)(void) = empty_ring;

static void give_task(void (*what)(void))
{
	atomic_store(&task, what);
	sem_post(&wanted);
}

/*
 * Without sleeping: a processor that was just woken is slower for a while, which would look like
 * the recorder's cost.
 */
static void await_task(void)
{
	while (sem_trywait(&done))
		sched_yield();
}

double drain_distance(void)
{
	uint64_t start, took;

	atomic_store(&flag.there, 0);
	atomic_store(&flag.back, 0);
	give_task(echo_flag);
	atomic_store(&flag.there, 1);
	wait_while(&flag.back, 0);
	start = sample_now();
	for (unsigned int i = 1; i < TRIPS; i++) {
		atomic_store(&flag.there, i + 1);
		wait_while(&flag.back, i);
	}
	took = sample_now() - start;
	await_task();
	return (double)took / (TRIPS - 1) / 2;
}

static void *run_thread(void *unused)
{
	(void)unused;
	while (!atomic_load(&ended)) {
		const struct timespec pause = { .tv_nsec = 20000 };

		if (atomic_load(&when) != DRAIN_ALWAYS) {
			sem_wait(&wanted);
			atomic_load (&task)();
			sem_post(&done);
			continue;
		}
		empty_ring();
		if (!sem_trywait(&wanted))
			sem_post(&done);
		else
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int drain_start(void)
{
	int err = session_create(&session, NULL, RING_BYTES, ON_FULL_WAIT);

	if (err)
		return err;
	setenv(SESSION_ENV, session.dir, 1);
	sem_init(&wanted, 0, 0);
	sem_init(&done, 0, 0);
	return -pthread_create(&thread, NULL, run_thread, NULL);
}

void drain_keep(uint64_t payload, bool strict)
{
	session.page->strict = strict;
	session.page->payload.keep = payload;
}

static void ask_thread(void)
{
	give_task(empty_ring);
	await_task();
}

void drain_now(void)
{
	if (atomic_load(&when) == DRAIN_BETWEEN)
		ask_thread();
}

void drain_set(enum drain_when now)
{
	const enum drain_when before = (enum drain_when)atomic_exchange(&when, DRAIN_BETWEEN);

	if (before == DRAIN_NEVER) {
		ring.reserved = atomic_load(&ring.head->tail);
		ring_consume(&ring);
		passed_over = true;
	}
	ask_thread();
	if (now == DRAIN_NEVER)
		atomic_store(&ring.head->head, FAR);
	atomic_store(&when, now);
	if (now == DRAIN_ALWAYS)
		ask_thread();
}

unsigned int drain_frames(void)
{
	return frames;
}

void drain_end_session(void)
{
	atomic_store(&session.page->state, SESSION_CLOSED);
}

bool drain_recorded(void)
{
	return ring.head;
}

bool drain_dropped(void)
{
	return ring.head && atomic_load(&ring.head->dropped);
}

int drain_stop(void)
{
	atomic_store(&ended, true);
	give_task(empty_ring);
	pthread_join(thread, NULL);
	if (error)
		fprintf(stderr, "the ring is damaged\n");
	ring_close(&ring);
	session_remove(&session);
	return error;
}

/*
 * A thread that plays the collector
 *
 * While a row is timed it sleeps, and it empties the ring in between: so the
 * ring never fills, and the lines of it have been in another core's cache, as
 * in a real recording. drain_always() makes it read while the row is timed.
 */
#include "scripts/bench/drain.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"

static struct session session;
static struct ring ring;
static pthread_t thread;
static sem_t wanted, done;
static atomic_bool always, ended;
static unsigned int frames;
static int error;

static void open_ring(void)
{
	char path[SESSION_PATH + 16];

	session_ring_path(&session, 0, path);
	ring_open(&ring, path); /* -ENOENT until the first verb */
}

static void empty_ring(void)
{
	const struct event_head *event;
	int bytes = 0;

	if (!ring.head)
		open_ring();
	if (!ring.head)
		return;
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		if (event->type == EVENT_CALL)
			frames = ((const struct event_call *)event)->nframes;
		ring_step(&ring, (size_t)bytes);
	}
	ring_consume(&ring);
	if (bytes < 0)
		error = bytes;
}

static void *run_thread(void *unused)
{
	(void)unused;
	while (!atomic_load(&ended)) {
		const struct timespec pause = { .tv_nsec = 20000 };

		if (atomic_load(&always)) {
			empty_ring();
			nanosleep(&pause, NULL);
			continue;
		}
		sem_wait(&wanted);
		empty_ring();
		sem_post(&done);
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

void drain_now(void)
{
	if (atomic_load(&always))
		return;
	sem_post(&wanted);
	sem_wait(&done);
}

void drain_always(bool on)
{
	atomic_store(&always, on);
	if (on)
		sem_post(&wanted);
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
	sem_post(&wanted);
	pthread_join(thread, NULL);
	if (error)
		fprintf(stderr, "the ring is damaged\n");
	ring_close(&ring);
	session_remove(&session);
	return error;
}

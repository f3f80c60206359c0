#pragma once
/*
 * Shared by the recorder's tests: a session in a child process, and its rings.
 *
 * A process joins a session once, so each test runs in a separate child.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/test.h"

#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZER true
#else
#define THREAD_SANITIZER false
#endif

/* In a child: a failed condition is printed, and ends the child. */
#define HOLDS(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);                                             \
		}                                                             \
	} while (0)

static struct session session;

static inline void session_begin(uint64_t ring_bytes, enum session_on_full on_full)
{
	HOLDS(session_create(&session, NULL, ring_bytes, on_full) == 0);
	setenv(SESSION_ENV, session.dir, 1);
}

static inline struct ring session_ring(uint32_t index)
{
	char path[SESSION_PATH + 16];
	struct ring ring = { 0 };

	session_ring_path(&session, index, path);
	HOLDS(ring_open(&ring, path) == 0);
	return ring;
}

/* The next event of @type; events of processes, threads and places are skipped. NULL at the end. */
static inline const void *expect_event(struct ring *ring, enum event_type type)
{
	const struct event_head *event;
	int bytes;

	while ((bytes = ring_peek(ring, &event)) > 0) {
		ring_step(ring, (size_t)bytes);
		if (event->type == type)
			return event;
		HOLDS(event->type == EVENT_PROCESS || event->type == EVENT_MODULE ||
		      event->type == EVENT_SITE || event->type == EVENT_WAITED);
	}
	HOLDS(bytes == 0);
	return NULL;
}

static inline void in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		body();
		session_remove(&session);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

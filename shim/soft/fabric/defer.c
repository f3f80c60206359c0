/*
 * Events that wait for space in their pipe
 *
 * This process queues them in order, and a thread writes them, which runs only while the queue is
 * not empty. An event that is queued already is not queued twice. So the queue for a program that
 * never reads its events is limited by the number of its objects.
 */
#include "shim/soft/fabric/defer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/soft/fabric/thread.h"

enum {
	PERIOD_MIN = 1000000, /* ns; doubled after each attempt, up to */
	PERIOD_MAX = 512000000,
};

struct deferred_event {
	struct deferred_event *next;
	struct pipe_event event;
	char path[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct deferred_event *list;
static bool running;

/*
 * Write an event to its pipe, which is also open for reading, so that the death of the reader does
 * not raise SIGPIPE.
 */
static bool write_event(const char *path, const struct pipe_event *event)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	bool done;

	if (fd < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
	done = write(fd, event, sizeof(*event)) >= 0 || errno != EAGAIN;
	close(fd);
	return done;
}

static bool is_for_pipe(const struct deferred_event *kept, const char *path)
{
	return !strcmp(kept->path, path);
}

/* Write the events for which their pipes have space. False: no pipe has space. */
static bool write_all(void)
{
	struct deferred_event **p = &list, *kept;
	bool any = false;

	while ((kept = *p)) {
		if (!write_event(kept->path, &kept->event)) {
			p = &kept->next;
			continue;
		}
		*p = kept->next;
		free(kept);
		any = true;
	}
	return any;
}

static void *run_writer(void *unused)
{
	struct timespec period = { .tv_nsec = PERIOD_MIN };
	bool more;

	do {
		nanosleep(&period, NULL);
		pthread_mutex_lock(&mutex);
		if (write_all())
			period.tv_nsec = PERIOD_MIN;
		else if (period.tv_nsec < PERIOD_MAX)
			period.tv_nsec *= 2;
		more = running = list;
		pthread_mutex_unlock(&mutex);
	} while (more);
	return unused;
}

/* The end of the queue, or NULL if the same event is queued already. */
static struct deferred_event **find_place(const char *path, const struct pipe_event *event)
{
	struct deferred_event **p;

	for (p = &list; *p; p = &(*p)->next)
		if (is_for_pipe(*p, path) && !memcmp(&(*p)->event, event, sizeof(*event)))
			return NULL;
	return p;
}

void defer_add(const char *path, const struct pipe_event *event)
{
	struct deferred_event *kept, **p;

	pthread_mutex_lock(&mutex);
	p = find_place(path, event);
	kept = p ? malloc(sizeof(*kept) + strlen(path) + 1) : NULL;
	if (kept) {
		kept->next = NULL;
		kept->event = *event;
		strcpy(kept->path, path);
		*p = kept;
	}
	if (!running)
		running = thread_start(run_writer, NULL, NULL);
	pthread_mutex_unlock(&mutex);
}

static bool has_deferred_event(const char *path)
{
	struct deferred_event *kept;

	if (!__atomic_load_n(&list, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&mutex);
	for (kept = list; kept && !is_for_pipe(kept, path); kept = kept->next)
		;
	pthread_mutex_unlock(&mutex);
	return kept;
}

void defer_write(const char *path, const struct pipe_event *event)
{
	if (has_deferred_event(path) || !write_event(path, event))
		defer_add(path, event);
}

void defer_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	list = NULL;
	running = false;
}

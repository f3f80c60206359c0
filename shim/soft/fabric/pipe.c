/*
 * Event pipes
 *
 * A sender opens the pipe by its name, writes one record, and closes the pipe: if the descriptor
 * stayed open, the program could close and reuse it.
 */
#include "shim/soft/fabric/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/defer.h"
#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/node.h"

enum {
	PURGE_MAX = 4096, /* as many records as a pipe holds by default */
	PIECE = PIPE_BUF / sizeof(struct pipe_event),
};

static uint32_t last_id;

static void format_own_path(char path[DIRECTORY_FILE], uint32_t id)
{
	directory_file(path, "pipe", node_self.node, node_self.instance, id);
}

int pipe_open(uint32_t *ret_id)
{
	uint32_t id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	char path[DIRECTORY_FILE];
	int fd, err;

	format_own_path(path, id);
	if (mkfifo(path, 0600) < 0)
		return -errno;
	/* also open for writing, so that a reader never sees the end of file */
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		err = -errno;
		unlink(path);
		return err;
	}
	*ret_id = id;
	return fd;
}

void pipe_close(int fd, uint32_t id)
{
	char path[DIRECTORY_FILE];

	format_own_path(path, id);
	unlink(path);
	close(fd);
}

void pipe_send(struct shm_seg *seg, uint32_t id, const struct pipe_event *event)
{
	pipe_send_to(seg->node, seg->instance, id, event);
}

void pipe_send_to(uint32_t node, uint64_t instance, uint32_t id, const struct pipe_event *event)
{
	char path[DIRECTORY_FILE];
	int saved = errno;

	directory_file(path, "pipe", node, instance, id);
	defer_write(path, event);
	errno = saved;
}

static bool is_of_object(const struct pipe_event *event, uint32_t kind, uint32_t index,
			 uint32_t serial)
{
	return event->kind == kind && event->index == index && event->serial == serial;
}

/* Read all records of the pipe, and drop invalid ones and those for the object. */
static size_t read_other_events(int fd, struct pipe_event *events, uint32_t kind, uint32_t index,
				uint32_t serial)
{
	ssize_t len = read(fd, events, PURGE_MAX * sizeof(*events));
	size_t i, n = 0;

	for (i = 0; len > 0 && i < len / sizeof(*events); i++)
		if (!is_of_object(&events[i], kind, index, serial))
			events[n++] = events[i];
	return n;
}

/* Write the records back in pieces that the kernel writes completely or not at all. */
static void write_events_back(int fd, const char *path, const struct pipe_event *events, size_t num)
{
	size_t i, n;

	for (i = 0; i < num; i += n) {
		n = num - i < PIECE ? num - i : PIECE;
		if (write(fd, &events[i], n * sizeof(*events)) < 0)
			break;
	}
	for (; i < num; i++)
		defer_add(path, &events[i]);
}

void pipe_purge(uint32_t id, uint32_t kind, uint32_t index, uint32_t serial)
{
	static struct pipe_event events[PURGE_MAX]; /* protected by the mutex */
	char path[DIRECTORY_FILE];
	int fd, saved = errno; /* saved: an empty pipe must not change it */

	format_own_path(path, id);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	write_events_back(fd, path, events, read_other_events(fd, events, kind, index, serial));
	close(fd);
	errno = saved;
}

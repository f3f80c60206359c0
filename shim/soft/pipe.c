/*
 * Event pipes
 *
 * A sender opens the pipe by its name, writes one record and closes it: it
 * keeps no file descriptor of a peer's, which the program could close and
 * use again for something else without our knowing.
 */
#include "shim/soft/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric.h"

enum { PURGE_MAX = 4096 };	/* as many records as a pipe holds by default */

static uint32_t last_id;

static void own_path(char path[FABRIC_PATH], uint32_t id)
{
	fabric_path(path, "pipe", fabric_seg->node, fabric_seg->instance, id);
}

int pipe_open(uint32_t *ret_id)
{
	uint32_t id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	char path[FABRIC_PATH];
	int fd, err;

	own_path(path, id);
	if (mkfifo(path, 0600) < 0)
		return -errno;
	/* for writing too, so that a reader never meets the end of file */
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
	char path[FABRIC_PATH];

	own_path(path, id);
	unlink(path);
	close(fd);
}

void pipe_send(struct shm_seg *seg, uint32_t id, const struct pipe_event *event)
{
	char path[FABRIC_PATH];
	int fd, saved = errno;

	fabric_path(path, "pipe", seg->node, seg->instance, id);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		if (write(fd, event, sizeof(*event)) < 0)
			errno = saved;	/* full: 4096 events are unread */
		close(fd);
	}
	errno = saved;
}

static bool is_for(const struct pipe_event *event, uint32_t kind,
		   uint32_t index, uint32_t serial)
{
	return event->kind == kind && event->index == index &&
		event->serial == serial;
}

void pipe_purge(uint32_t id, uint32_t kind, uint32_t index, uint32_t serial)
{
	static struct pipe_event kept[PURGE_MAX];	/* under the mutex */
	struct pipe_event event;
	unsigned int i, n = 0;
	char path[FABRIC_PATH];
	int fd;

	own_path(path, id);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	while (n < PURGE_MAX &&
	       read(fd, &event, sizeof(event)) == sizeof(event))
		if (!is_for(&event, kind, index, serial))
			kept[n++] = event;
	for (i = 0; i < n; i++)
		if (write(fd, &kept[i], sizeof(kept[i])) < 0)
			break;
	close(fd);
}

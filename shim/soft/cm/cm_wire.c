/*
 * Mailboxes
 *
 * An event channel has one, a named pipe, and each of its ids is one more name (a hard link) of
 * that pipe:
 *
 * 	DIR/cmbox.NODE.INSTANCE.CHANNEL
 * 	DIR/cmid.NODE.INSTANCE.SERIAL
 *
 * So an id is found by its name even after a migration, and ceases to exist with its name. A
 * process that removes a name, or moves it to another channel, does so first and then reads the old
 * pipe; a sender writes first and then checks that the name still refers to it. So no message is
 * lost; one may arrive twice, and the states of the ids ignore the second.
 *
 * A message is shorter than PIPE_BUF, so it is written and read as a whole.
 */
#include "shim/soft/cm/cm_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"

#define MAGIC 0x314d436d69746256ull

enum { MAILBOX = 1 << 20, MOVES = 16 };

_Static_assert(sizeof(struct cm_msg) <= PIPE_BUF, "messages are atomic");

static void mailbox_path(char path[DIRECTORY_FILE], uint32_t id)
{
	directory_file(path, "cmbox", segment_own->node, segment_own->instance, id);
}

static void id_path(char path[DIRECTORY_FILE], uint32_t serial)
{
	directory_file(path, "cmid", segment_own->node, segment_own->instance, serial);
}

int cm_wire_open(uint32_t id)
{
	char path[DIRECTORY_FILE];
	int fd, err;

	mailbox_path(path, id);
	if (mkfifo(path, 0600) < 0)
		return -errno;
	/* also for writing, so that a reader never sees the end of file */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		err = -errno;
		unlink(path);
		return err;
	}
	/* as large as allowed, so that fewer messages must be sent again */
	fcntl(fd, F_SETPIPE_SZ, MAILBOX);
	return fd;
}

void cm_wire_close(int fd, uint32_t id)
{
	char path[DIRECTORY_FILE];

	mailbox_path(path, id);
	unlink(path);
	close(fd);
}

int cm_wire_name(uint32_t id, uint32_t serial)
{
	char box[DIRECTORY_FILE], name[DIRECTORY_FILE], new[DIRECTORY_FILE];

	mailbox_path(box, id);
	id_path(name, serial);
	directory_file(new, "cmnew", segment_own->node, segment_own->instance, serial);
	if (link(box, new) < 0)
		return -errno;
	if (rename(new, name) < 0) {
		unlink(new);
		return -errno;
	}
	return 0;
}

void cm_wire_unname(uint32_t serial)
{
	char path[DIRECTORY_FILE];

	id_path(path, serial);
	unlink(path);
}

/* Is @here still the pipe at @path? All pipes are in one directory, of one file system. */
static bool is_pipe_at(const char *path, const struct stat *here)
{
	struct stat there;

	return stat(path, &there) == 0 && there.st_ino == here->st_ino;
}

/* 0, -ESTALE if the id was moved or removed meanwhile, or -errno. */
static int put_message(const char *path, const struct cm_msg *msg)
{
	struct stat st;
	int fd, err = 0;

	/* also for reading, so that a missing reader does not raise SIGPIPE */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		err = -EPROTO;
	else if (write(fd, msg, sizeof(*msg)) != sizeof(*msg))
		err = -EAGAIN;
	else if (!is_pipe_at(path, &st))
		err = -ESTALE;
	close(fd);
	return err;
}

int cm_wire_send(const struct cm_name *to, struct cm_msg *msg)
{
	msg->from.node = segment_own->node;
	msg->from.instance = segment_own->instance;
	return cm_wire_put(to, msg);
}

int cm_wire_put(const struct cm_name *to, struct cm_msg *msg)
{
	char path[DIRECTORY_FILE];
	int err, tries = 0;

	msg->magic = MAGIC;
	msg->to = to->serial;
	directory_file(path, "cmid", to->node, to->instance, to->serial);
	do
		err = put_message(path, msg);
	while (err == -ESTALE && ++tries < MOVES);
	/* its reader is dead, and will not free space */
	if (err == -EAGAIN && !node_has(to->node, to->instance))
		return -ENOENT;
	return err;
}

static bool check_message(const struct cm_msg *msg)
{
	return msg->magic == MAGIC && msg->type && msg->type < CM_TYPES &&
	       msg->private_len <= sizeof(msg->private_data);
}

bool cm_wire_recv(int fd, struct cm_msg *msg)
{
	ssize_t n;

	while ((n = read(fd, msg, sizeof(*msg))) > 0)
		/* garbage may have any length: read to its end */
		if (n == sizeof(*msg) && check_message(msg))
			return true;
	return false;
}

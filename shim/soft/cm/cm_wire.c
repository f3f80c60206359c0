/*
 * Mailboxes
 *
 * An event channel has one mailbox, a named pipe. Each of its ids is another name (a hard link) of
 * this pipe:
 *
 *	DIR/cmbox.NODE.INSTANCE.CHANNEL
 *	DIR/cmid.NODE.INSTANCE.SERIAL
 *
 * So an id is found by its name even after a migration, and ceases to exist with its name. A
 * process removes a name, or moves it to another channel, before it reads the old pipe; a sender
 * writes before it checks that the name still refers to the pipe. So no message is lost. A message
 * may arrive twice; the state of the id then ignores the second one.
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

static void format_mailbox_path(char path[DIRECTORY_FILE], uint32_t id)
{
	directory_file(path, "cmbox", segment_own->node, segment_own->instance, id);
}

static void format_id_path(char path[DIRECTORY_FILE], uint32_t serial)
{
	directory_file(path, "cmid", segment_own->node, segment_own->instance, serial);
}

int cm_wire_open(uint32_t id)
{
	char path[DIRECTORY_FILE];
	int fd, err;

	format_mailbox_path(path, id);
	if (mkfifo(path, 0600) < 0)
		return -errno;
	/* also open for writing, so that a reader never sees the end of file */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		err = -errno;
		unlink(path);
		return err;
	}
	/* the pipe is as large as allowed, so that it is rarely full */
	fcntl(fd, F_SETPIPE_SZ, MAILBOX);
	return fd;
}

void cm_wire_close(int fd, uint32_t id)
{
	char path[DIRECTORY_FILE];

	format_mailbox_path(path, id);
	unlink(path);
	close(fd);
}

int cm_wire_add_name(uint32_t id, uint32_t serial)
{
	char box[DIRECTORY_FILE], name[DIRECTORY_FILE], new[DIRECTORY_FILE];

	format_mailbox_path(box, id);
	format_id_path(name, serial);
	directory_file(new, "cmnew", segment_own->node, segment_own->instance, serial);
	if (link(box, new) < 0)
		return -errno;
	if (rename(new, name) < 0) {
		unlink(new);
		return -errno;
	}
	return 0;
}

void cm_wire_remove_name(uint32_t serial)
{
	char path[DIRECTORY_FILE];

	format_id_path(path, serial);
	unlink(path);
}

/* Is the pipe @here still at @path? All pipes are in one directory, so in one file system. */
static bool is_pipe_at(const char *path, const struct stat *here)
{
	struct stat there;

	return stat(path, &there) == 0 && there.st_ino == here->st_ino;
}

/* Write @msg to the pipe. 0; -ESTALE if the id was moved or removed in between; or -errno. */
static int put_message(const char *path, const struct cm_msg *msg)
{
	struct stat st;
	int fd, err = 0;

	/* also open for reading, so that a missing reader does not raise SIGPIPE */
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
	/* the reader is dead, and will not free space */
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
		/* skip an invalid message: it may have any length */
		if (n == sizeof(*msg) && check_message(msg))
			return true;
	return false;
}

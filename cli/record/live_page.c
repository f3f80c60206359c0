/*
 * The state of a recorded program, as its recorder publishes it
 */
#include "cli/record/live_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x6576694c65735676ull /* "vVseLive" */
#define NAME  "session.vitals"      /* session_remove() removes it */

enum {
	VERSION = 2,
	VIEWER_SECONDS = 10, /* seconds without a reader */
	TRIES = 16,          /* tries to read while it is being written */
};

struct head {
	uint64_t magic;
	uint32_t version;
};

struct live_page {
	struct head head;
	uint32_t turn;  /* odd while it is being written */
	uint64_t asked; /* CLOCK_MONOTONIC: last access of a reader */
	struct live_state state;
};

/* Opens NAME in the session's directory. A descriptor or -errno. */
static int open_file(const struct session *session, int flags)
{
	int at = session_open_dir(session), fd;

	if (at < 0)
		return at;
	fd = openat(at, NAME, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

#define PUT(fd, member, value) \
	put_bytes(fd, value, sizeof(*(value)), offsetof(struct live_page, member))
#define GET(fd, member, value) \
	get_bytes(fd, value, sizeof(*(value)), offsetof(struct live_page, member))

static int put_bytes(int fd, const void *bytes, size_t n, size_t at)
{
	ssize_t put = pwrite(fd, bytes, n, (off_t)at);

	return put == (ssize_t)n ? 0 : put < 0 ? -errno : -EIO;
}

static int get_bytes(int fd, void *bytes, size_t n, size_t at)
{
	ssize_t got = pread(fd, bytes, n, (off_t)at);

	return got == (ssize_t)n ? 0 : got < 0 ? -errno : -EPROTO;
}

/* Several viewers may call it at once, and find an incomplete page; nothing is undone. */
int live_page_create(const struct session *session)
{
	struct head head = { 0 };
	int fd = open_file(session, O_CREAT | O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	err = get_bytes(fd, &head, sizeof(head), 0);
	if (err == -EPROTO || !head.magic) {
		head = (struct head){ .magic = MAGIC, .version = VERSION };
		err = -posix_fallocate(fd, 0, sizeof(struct live_page));
		if (!err)
			err = put_bytes(fd, &head, sizeof(head), 0);
	}
	close(fd);
	return err ? err : live_page_open(session);
}

int live_page_open(const struct session *session)
{
	struct head head;
	int fd = open_file(session, O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	err = get_bytes(fd, &head, sizeof(head), 0);
	if (!err && head.magic == MAGIC && head.version == VERSION)
		return fd;
	close(fd);
	return err ? err : -EPROTO;
}

int live_page_write(int fd, const struct live_state *state)
{
	uint32_t turn = 0;
	int err = GET(fd, turn, &turn);

	turn |= 1;
	if (!err)
		err = PUT(fd, turn, &turn);
	if (!err)
		err = PUT(fd, state, state);
	turn++;
	return err ? err : PUT(fd, turn, &turn);
}

/* Terminate the texts, and limit counts to their arrays. */
static void bound_state(struct live_state *state)
{
	if (state->nqueues > LIVE_QUEUES)
		state->nqueues = LIVE_QUEUES;
	if (state->nlatencies > LIVE_OPCODES)
		state->nlatencies = LIVE_OPCODES;
	for (uint32_t i = 0; i < state->nqueues; i++)
		state->queues[i].name[LIVE_NAME - 1] = '\0';
}

int live_page_read(int fd, struct live_state *ret_state, uint32_t *turn)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before, after;
		int err = GET(fd, turn, &before);

		if (!err && (before == *turn || before & 1))
			return 0;
		if (!err)
			err = GET(fd, state, ret_state);
		if (!err)
			err = GET(fd, turn, &after);
		if (err)
			return err;
		if (before != after)
			continue;
		*turn = before;
		bound_state(ret_state);
		return 1;
	}
	return 0;
}

int live_page_note_viewer(int fd)
{
	uint64_t now = clock_monotonic();

	return PUT(fd, asked, &now);
}

bool live_page_has_viewer(int fd)
{
	uint64_t asked;

	return !GET(fd, asked, &asked) && asked &&
	       clock_monotonic() - asked < VIEWER_SECONDS * 1000000000ull;
}

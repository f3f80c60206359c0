#pragma once
/*
 * A second process for tests, connected to an end of ours; a function has its actions.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

struct fellow {
	pid_t pid;
	int fd;
	struct address address;
};

/* Runs in the fellow, connected; the fellow ends when it returns. */
typedef void fellow_fn(struct end *e, int fd, struct address yours);

HELPER void say_bytes(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), len);
}

HELPER void hear_bytes(int fd, void *data, size_t len)
{
	assert_int_equal(recv(fd, data, len, MSG_WAITALL), len);
}

/* Wait until the other side says so, or ends. */
HELPER void await_word(int fd)
{
	char word;

	while (read(fd, &word, 1) < 0)
		;
}

HELPER void fellow_main(int fd, fellow_fn *fn)
{
	struct address mine, yours;
	struct end e = { 0 };

	/* a failed assertion ends it, and does not jump into our tests */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	end_open(&e);
	mine = end_address(&e);
	say_bytes(fd, &mine, sizeof(mine));
	hear_bytes(fd, &yours, sizeof(yours));
	connect_to(e.qp, yours.qpn);
	say_bytes(fd, "k", 1);
	await_word(fd); /* they are connected, too */
	fn(&e, fd, yours);
	end_close(&e);
	exit(0);
}

HELPER struct fellow fellow_start(fellow_fn *fn)
{
	struct fellow f = { 0 };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	f.pid = fork();
	if (!f.pid) {
		close(fds[0]);
		fellow_main(fds[1], fn);
	}
	close(fds[1]);
	f.fd = fds[0];
	hear_bytes(f.fd, &f.address, sizeof(f.address));
	return f;
}

HELPER void fellow_meet(struct fellow *f, struct end *e)
{
	struct address mine = end_address(e);

	say_bytes(f->fd, &mine, sizeof(mine));
	connect_to(e->qp, f->address.qpn);
	await_word(f->fd);
	say_bytes(f->fd, "k", 1);
}

/* Returns the fellow's exit status; 0: no error. */
HELPER int fellow_stop(struct fellow *f)
{
	int status;

	if (!f->pid)
		return 0;
	close(f->fd);
	waitpid(f->pid, &status, 0);
	f->pid = 0;
	return status;
}

HELPER void fellow_kill(struct fellow *f)
{
	kill(f->pid, SIGKILL);
	fellow_stop(f);
}

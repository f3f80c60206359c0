/*
 * A process that goes on with the recording if the recorder is killed
 *
 *	recorder  --commit 1-- fork --commit 2-- fork --commit 3-- X
 *	                         \                 \
 *	standby                   ends              waits ...       goes on, with the state
 *	                                                            before commit 3
 *
 * The child of a fork has all that the recorder knows: threads, stacks, calls that have not
 * returned, its connection to SQLite with the open transaction, and the lock of the trace, which
 * belongs to the open file. It commits once more what its parent may have committed: the same bytes
 * at the same place of the log. Events that its parent has read since are still in their rings,
 * since their space is returned only after a commit (collector_hold()).
 *
 * Between the fork and the end of the older child, which precedes the commit, either may go on: the
 * first one that changes `owner` does.
 *
 * Not here: what is committed (core/store/write/writer.c).
 */
#include "cli/record/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/log.h"

int standby_init(struct standby *standby, struct session_page *page)
{
	_Atomic uint32_t *owner = mmap(NULL, sizeof(*owner), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (owner == MAP_FAILED)
		return log_err(-errno, "map memory for a standby process");
	atomic_store(owner, (uint32_t)getpid());
	*standby = (struct standby){ .page = page, .owner = owner, .fd = -1 };
	return 0;
}

static void set_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

/* Guests look at the standby first, then at the collector: see session_has_collector(). */
static void become_collector(struct standby *standby)
{
	struct session_page *page = standby->page;

	page->collector_start = session_process_start(getpid());
	page->collector = (uint32_t)getpid();
	if (atomic_load(&page->state) == SESSION_ORPHAN)
		atomic_store(&page->state, SESSION_RUNNING);
	standby->takeovers++;
	set_name("verbatim");
	log_note("the recorder was killed; this process (%d) takes over, and no event is lost",
		 (int)getpid());
}

/* Waits for the end of @recorder. Returns if this process must take over. */
static void stand_by(struct standby *standby, int fd, pid_t recorder)
{
	uint32_t owner = (uint32_t)recorder;
	char byte;

	if (standby->fd >= 0)
		close(standby->fd);
	standby->fd = -1;
	standby->pid = 0;
	set_name("standby");
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		continue;
	close(fd);
	if (!atomic_compare_exchange_strong(standby->owner, &owner, (uint32_t)getpid()))
		_exit(0);
	become_collector(standby);
}

static void end_child(pid_t pid, int fd)
{
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	if (fd >= 0)
		close(fd);
}

/* Returns whether this process is the child, which takes over. */
static bool fork_standby(struct standby *standby)
{
	pid_t before = standby->pid, self = getpid(), pid;
	int fds[2], old = standby->fd;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		stand_by(standby, fds[0], self);
		return true;
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		fds[1] = -1;
		pid = 0;
	}
	standby->pid = pid;
	standby->fd = fds[1];
	__atomic_store_n(&standby->page->standby, (uint32_t)pid, __ATOMIC_RELEASE);
	end_child(before, old);
	return false;
}

void standby_renew(struct standby *standby)
{
	while (fork_standby(standby))
		continue; /* the new recorder needs a standby, too */
}

void standby_dismiss(struct standby *standby)
{
	if (!standby->page)
		return;
	__atomic_store_n(&standby->page->standby, 0, __ATOMIC_RELEASE);
	end_child(standby->pid, standby->fd);
	standby->pid = 0;
	standby->fd = -1;
}

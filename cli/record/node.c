/*
 * One collector for all recorders of a job on a node
 *
 *	rank 0: verbatim record ---fork---> collector, in a session of its own
 *	          |                            ^
 *	          +--> program                 | rings
 *	rank 1: verbatim record --> program ---+
 *
 * They find each other by the node file, which is beside the sessions, named by a hash of the
 * trace's path, the job, the step and the node, which contains the directory of the session. A
 * process that has locked the node file may start, join, leave or end a collector.
 *
 * The collector is a separate process, so that no recorder waits for other recorders' programs, and
 * the recording continues if a recorder is killed. A lock on a second file shows whether members
 * run: the kernel releases it, however they end.
 *
 *	session.members    locked by each member
 *	session.ends       struct node_end, appended by members
 *	session.messages   what the collector prints
 *
 * Not here: a killed collector (standby.c); what a member does (member.c).
 */
#include "cli/record/node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/output_name.h"
#include "core/wire/clock.h"
#include "core/wire/dir.h"
#include "core/wire/hash.h"
#include "core/wire/launcher.h"
#include "core/wire/log.h"

static const char members_name[] = "session.members", ends_name[] = "session.ends",
		  messages_name[] = "session.messages";

enum { LOOK_NS = 5 * 1000 * 1000 };

static const char *get_variable(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static void find_rank(struct rank *rank)
{
	launcher_find_rank(get_variable, NULL, rank);
}

bool node_is_shared(const char *pattern)
{
	struct rank rank;

	find_rank(&rank);
	return rank.rank >= 0 && rank.size != 1 && !output_name_has(pattern, 'r') &&
	       !output_name_has(pattern, 'p');
}

/* An absolute path of a file that may not exist yet. */
static void resolve_path(const char *path, char whole[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX], real[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (!realpath(dir, real))
		snprintf(real, sizeof(real), "%s", dir);
	snprintf(whole, PATH_MAX, "%.2000s/%.2000s", real, slash ? slash + 1 : path);
}

/* Ranks of a job without a name have the same parent: the launcher's process on this node. */
static void name_lock_file(struct node *node, const char *path)
{
	char whole[PATH_MAX], key[PATH_MAX + 4 * RANK_WORD];
	struct rank rank;
	int n;

	find_rank(&rank);
	node->expected = rank.local_size > 0 ? (unsigned int)rank.local_size : 0;
	resolve_path(path, whole);
	n = snprintf(key, sizeof(key), "%s\n%s\n%s\n%s\n%d", whole, rank.job, rank.step, rank.node,
		     *rank.job ? 0 : (int)getppid());
	snprintf(node->path, sizeof(node->path), "%.200s/verbatim-%u.%016" PRIx64, session_parent(),
		 (unsigned int)getuid(), hash_of(key, (size_t)n, 0));
}

/* Lock the node file: the file that has the name now, not one that was removed during the wait. */
static int lock_node_file(struct node *node)
{
	struct stat st;

	for (;;) {
		int fd = open(node->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0 || fstat(fd, &st))
			return log_err(-errno, "open %s", node->path);
		if (!S_ISREG(st.st_mode) || st.st_uid != getuid()) {
			close(fd);
			return log_err(-EACCES, "open %s", node->path);
		}
		while (flock(fd, LOCK_EX) && errno == EINTR)
			continue;
		if (!fstat(fd, &st) && st.st_nlink) {
			node->door = fd;
			return 0;
		}
		close(fd);
	}
}

static void unlock_node_file(struct node *node)
{
	close(node->door);
	node->door = -1;
}

static int open_in_session(const struct session *session, const char *name, int flags)
{
	int at = session_open_dir(session), fd;

	if (at < 0)
		return at;
	fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = -errno;
	close(at);
	return fd;
}

static int enter_session(struct node *node)
{
	node->members = open_in_session(&node->session, members_name, O_RDONLY);
	node->messages = open_in_session(&node->session, messages_name, O_RDONLY);
	node->ends = open_in_session(&node->session, ends_name, O_WRONLY | O_APPEND);
	if (node->members < 0 || node->messages < 0 || node->ends < 0)
		return log_err(-ENOENT, "join the recording in %s", node->session.dir);
	while (flock(node->members, LOCK_SH) && errno == EINTR)
		continue;
	atomic_fetch_add(&node->session.page->recorders, 1);
	session_wake(&node->session);
	return 0;
}

/* Join the session that the node file names. -ENOENT: there is none, or it has ended. */
static int join_session(struct node *node)
{
	char dir[SESSION_PATH] = "";
	ssize_t n = pread(node->door, dir, sizeof(dir) - 1, 0);
	int err;

	if (n <= 0)
		return -ENOENT;
	err = session_join(&node->session, dir);
	if (err == -EPROTO)
		return log_err(err, "join the recording in %s: another version of verbatim made it",
			       dir);
	if (!err && session_is_running(&node->session) && session_has_collector(node->session.page))
		return 0;
	session_leave(&node->session);
	return -ENOENT;
}

/*
 * Set the status for the last member or, without a session, for the member that started this
 * process.
 */
static void set_outcome(const struct node *node, int status)
{
	if (!node->session.page)
		_exit(status ? status : CLI_ENVIRONMENT);
	atomic_store(&node->session.page->outcome, (uint32_t)status + 1);
}

static _Noreturn void run_as_collector(struct node *node, int ready,
				       int (*collect)(void *arg, struct node *node), void *arg)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	/* a launcher may wait for the end of a descriptor that it gave to the first rank */
	if (ready != 3)
		dup3(ready, 3, O_CLOEXEC);
	close_range(4, ~0u, 0);
	node->ready = 3;
	node->door = -1;
	set_outcome(node, collect(arg, node));
	_exit(0);
}

/* Returns 0 and the session's directory; or the exit status. */
static int start_collector(struct node *node, int (*collect)(void *arg, struct node *node),
			   void *arg, char dir[SESSION_PATH])
{
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) || (pid = fork()) < 0) {
		log_err(-errno, "start the collector of this node");
		return CLI_ENVIRONMENT;
	}
	if (!pid)
		run_as_collector(node, fds[1], collect, arg);
	close(fds[1]);
	n = read(fds[0], dir, SESSION_PATH - 1);
	close(fds[0]);
	if (n > 0) {
		dir[n] = '\0';
		return 0;
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : CLI_ENVIRONMENT;
}

static int start_session(struct node *node, int (*collect)(void *arg, struct node *node), void *arg)
{
	char dir[SESSION_PATH];
	int status = start_collector(node, collect, arg, dir), err;

	if (status)
		return status;
	err = session_join(&node->session, dir);
	if (err || ftruncate(node->door, 0) ||
	    pwrite(node->door, dir, strlen(dir), 0) != (ssize_t)strlen(dir)) {
		log_err(err ?: -errno, "join the recording in %s", dir);
		return CLI_ENVIRONMENT;
	}
	return 0;
}

int node_join(struct node *node, const char *path, int (*collect)(void *arg, struct node *node),
	      void *arg)
{
	int status, err;

	*node = (struct node){ .door = -1, .members = -1, .messages = -1, .ends = -1 };
	name_lock_file(node, path);
	if (lock_node_file(node))
		return CLI_ENVIRONMENT;
	err = join_session(node);
	status = err == -ENOENT ? start_session(node, collect, arg) : err ? CLI_ENVIRONMENT : 0;
	if (!status && enter_session(node))
		status = CLI_ENVIRONMENT;
	unlock_node_file(node);
	return status;
}

void node_name(char name[SESSION_TEXT])
{
	struct utsname host;
	struct rank rank;

	find_rank(&rank);
	uname(&host);
	snprintf(name, SESSION_TEXT, "%s", *rank.node ? rank.node : host.nodename);
}

/* The collector */

void node_describe(const char *command, char text[SESSION_TEXT])
{
	struct rank rank;

	find_rank(&rank);
	snprintf(text, SESSION_TEXT, "%s%s%s%s%s%s%s", *rank.job ? "job " : "ranks", rank.job,
		 *rank.step ? "." : "", rank.step, *rank.node ? " on " : "", rank.node, ": ");
	snprintf(text + strlen(text), SESSION_TEXT - strlen(text), "%s", command);
}

int node_open(struct node *node, const struct session *session)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL;
	ssize_t n = (ssize_t)strlen(session->dir);

	node->members = open_in_session(session, members_name, flags);
	node->ends = open_in_session(session, ends_name, flags);
	node->messages = open_in_session(session, messages_name, flags | O_APPEND);
	if (node->members < 0 || node->ends < 0 || node->messages < 0 ||
	    dup2(node->messages, STDERR_FILENO) < 0)
		return log_err(-errno, "make files in %s", session->dir);
	if (session_join(&node->session, session->dir))
		return log_err(-EIO, "join the session %s", session->dir);
	node->empty_since = clock_monotonic();
	n = write(node->ready, session->dir, (size_t)n) == n ? 0 : -errno;
	close(node->ready);
	return (int)n;
}

static bool has_members(const struct node *node)
{
	if (flock(node->members, LOCK_EX | LOCK_NB))
		return true;
	flock(node->members, LOCK_UN);
	return false;
}

bool node_has_members(struct node *node, const struct session *session, int64_t linger)
{
	unsigned int come = atomic_load(&session->page->recorders);
	/* without the folder of the node file no recorder can join */
	bool locked = !lock_node_file(node), has = has_members(node);

	if (locked)
		unlock_node_file(node);
	if (has)
		node->empty_since = 0;
	else if (!node->empty_since)
		node->empty_since = clock_monotonic();
	return has || ((!come || come < node->expected) &&
		       clock_monotonic() - node->empty_since < (uint64_t)linger);
}

bool node_next_end(struct node *node, struct node_end *ret_end)
{
	if (pread(node->ends, ret_end, sizeof(*ret_end), node->ends_read) != sizeof(*ret_end))
		return false;
	node->ends_read += (off_t)sizeof(*ret_end);
	return true;
}

bool node_close(struct node *node, const struct session *session)
{
	if (lock_node_file(node))
		return true;
	if (has_members(node)) {
		unlock_node_file(node);
		return false;
	}
	atomic_store(&session->page->state, SESSION_CLOSED);
	unlink(node->path); /* a process that waits for its lock then looks for the file again */
	return true;
}

/* A member */

void node_report_end(const struct node *node, const struct node_end *end)
{
	if (write(node->ends, end, sizeof(*end)) == sizeof(*end))
		session_wake((struct session *)(uintptr_t)&node->session);
}

static void copy_messages(const struct node *node)
{
	char bytes[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(node->messages, bytes, sizeof(bytes), at)) > 0) {
		if (write(STDERR_FILENO, bytes, (size_t)n) < 0)
			return;
		at += n;
	}
}

/* Returns the collector's exit status; 0 if a recorder joins after @joined ones: it waits now. */
static int wait_for_collector(struct node *node, uint32_t joined)
{
	const struct session_page *page = node->session.page;
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	session_wake(&node->session);
	while (session_has_collector(page)) {
		if (atomic_load(&page->recorders) != joined)
			return 0;
		nanosleep(&pause, NULL);
	}
	copy_messages(node);
	if (atomic_load(&page->outcome))
		return (int)atomic_load(&page->outcome) - 1;
	log_note("the collector of this node has died: 'verbatim collect %s' converts events that "
		 "it has not read",
		 node->session.dir);
	return CLI_TRACE;
}

int node_leave(struct node *node)
{
	uint32_t joined;
	int status = 0;
	bool last;

	if (lock_node_file(node))
		return 0;
	joined = atomic_load(&node->session.page->recorders);
	/* a failure, too, drops the shared lock */
	last = !flock(node->members, LOCK_EX | LOCK_NB);
	close(node->members);
	unlock_node_file(node);
	if (last)
		status = wait_for_collector(node, joined);
	session_leave(&node->session);
	return status;
}

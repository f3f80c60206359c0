#pragma once
/*
 * Finds the processes of a session in /proc. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GUESTS_MAX = 64 };

/*
 * Pids of living processes that were started with VERBATIM_DIR=@dir, up to @max of them in @pids;
 * returns their number. A single scan may miss a child whose parent ended meanwhile; two empty
 * scans in a row do not.
 */
unsigned int guests_scan(const char *dir, pid_t *pids, unsigned int max);

/*
 * Call @visit for each such process; returns their number. Only processes for which @may_be returns
 * true are examined; NULL: all.
 */
unsigned int guests_visit(const char *dir, bool (*may_be)(void *arg, pid_t pid),
			  void (*visit)(void *arg, pid_t pid), void *arg);

/* A time at which process @pid was running. */
struct guests_moment {
	pid_t pid;
	uint64_t forks; /* forks on this machine since it was booted; 0: not known */
};

struct guests_moment guests_mark(pid_t pid);

/* Have pids not wrapped around since @moment, so that later processes have larger pids? */
bool guests_grow_since(const struct guests_moment *moment);

/* The pid of process @pid in its own, innermost PID namespace; 0: it has ended. */
pid_t guests_inner_pid(pid_t pid);

/* Is @pid alive, and was it started with VERBATIM_DIR=@dir? */
bool guests_is_started_in(pid_t pid, const char *dir);

/* Is @tid a thread of the living process @pid? */
bool guests_has_thread(pid_t pid, pid_t tid);

struct session;

/*
 * Watch the end of a process that is not a child. Open it while it is alive: -1 if the kernel does
 * not support that.
 */
int guests_watch(pid_t pid);

/*
 * The status of process @pid, as from waitpid(), once it is dead, -1 not known. Closes @fd, which
 * may be -1.
 */
int guests_status(int fd, pid_t pid);

/*
 * Is @pid, the owner of a ring, a pid of another PID namespace? Then the process with that number
 * in this namespace is older than the session, or has not mapped it.
 */
bool guests_is_foreign(pid_t pid, const struct session *session);

/* Is the session's recorder alive, or a process that may record into the session? */
bool guests_in_use(const struct session *session);

/*
 * Clean up after killed recorders: sessions of this user, other than @ours, without a recorder or a
 * living process. A session with events remains, and is reported unless @quiet; others are removed.
 */
void guests_remove_leftovers(const struct session *ours, bool quiet);

#pragma once
/*
 * Processes that take part in a session, found in /proc. One thread.
 */
#include <stdbool.h>
#include <sys/types.h>

enum { GUESTS_MAX = 64 };

/*
 * Pids of living processes that were started with VERBATIM_DIR=@dir, up to
 * @max of them in @pids; returns how many there are. A process that was
 * between two looks while its parent ended may be missed by one scan; not by
 * two in a row that find nothing.
 */
unsigned int guests_scan(const char *dir, pid_t *pids, unsigned int max);

/* Calls @visit for each of them; returns how many there are. */
unsigned int guests_visit(const char *dir, void (*visit)(void *arg, pid_t pid), void *arg);

/* The pid that the process @pid has in its own, innermost PID namespace; 0: it is gone. */
pid_t guests_inner_pid(pid_t pid);

/* Is @pid alive, and was it started with VERBATIM_DIR=@dir? */
bool guests_has(pid_t pid, const char *dir);

/* Is @tid a thread of the living process @pid? */
bool guests_has_thread(pid_t pid, pid_t tid);

struct session;

/*
 * How a process ends that is not our child. Opened while it lives: -1 where
 * the kernel cannot tell.
 */
int guests_watch(pid_t pid);

/* Its status as of waitpid() now that it is dead, -1 not known. Closes @fd, which may be -1. */
int guests_status(int fd, pid_t pid);

/*
 * Is @pid, the owner that a ring names, a pid of another PID namespace? Then the
 * process of that number here is older than the session, or has not mapped it.
 */
bool guests_is_foreign(pid_t pid, const struct session *session);

/* Does its recorder live, or a process that may record into it? */
bool guests_in_use(const struct session *session);

/*
 * Clean up after recorders that were killed: sessions of this user beside @ours
 * without a recorder or a living process. One that holds events is kept, and
 * reported unless @quiet; any other is removed.
 */
void guests_sweep(const struct session *ours, bool quiet);

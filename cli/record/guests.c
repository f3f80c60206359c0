/*
 * Processes that take part in a session, found in /proc
 *
 * A guest is recognised by the environment it was started with, which needs no cooperation of the
 * guest, neither a descriptor nor a parent. Processes of other users cannot be read, but they
 * cannot have joined either.
 */
#include "cli/record/guests.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/desc.h"
#include "core/wire/dir.h"
#include "core/wire/log.h"
#include "core/base/proc_stat.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "core/wire/ring.h"
#include "core/wire/session.h"

enum { EXEC_MS = 50, EMPTY_READS = 3 };

/* The session that @text, the environment of a process, has; NULL. */
static const char *session_of(const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;

	while ((at = memmem(at, (size_t)(end - at), SESSION_ENV "=", sizeof(SESSION_ENV)))) {
		if (at == text || !at[-1])
			return at + sizeof(SESSION_ENV);
		at++;
	}
	return NULL;
}

/* Is @pid in execve(), with new memory that has no environment yet? */
static bool is_in_exec(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, 0, &stat) && !strchr("ZX", stat.state) &&
	       !(stat.flags & PROC_STAT_KERNEL) && !stat.environ_end;
}

/*
 * Read the environment of @pid. During execve() it is empty for a moment, and a file opened then
 * stays empty. 0 or -errno.
 */
static int read_environment(pid_t pid, char **ret_text, size_t *ret_bytes)
{
	static const struct timespec pause = { 0, 1000000 };
	char path[40];
	int err, calm = 0; /* reads of an empty environment, outside of execve() */

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	for (int i = 0; !(err = read_file(path, ret_text, ret_bytes)); i++) {
		if (*ret_bytes || calm == EMPTY_READS || i == EXEC_MS)
			return 0;
		free(*ret_text);
		if (is_in_exec(pid))
			nanosleep(&pause, NULL);
		else
			calm++;
	}
	return err;
}

/* Read the session of process @pid, which the caller frees; NULL: none. */
static char *read_session(pid_t pid)
{
	const char *dir;
	char *text;
	size_t bytes;

	if (read_environment(pid, &text, &bytes))
		return NULL;
	dir = session_of(text, bytes);
	if (dir)
		memmove(text, dir, strlen(dir) + 1);
	else
		free(text);
	return dir ? text : NULL;
}

bool guests_is_started_in(pid_t pid, const char *dir)
{
	char *its = read_session(pid);
	bool has = its && !strcmp(its, dir) && session_process_alive(pid, 0);

	free(its);
	return has;
}

/* Call @visit for each process for which @may_be is true, and that was started with a session. */
static void visit_guests(bool (*may_be)(void *arg, pid_t pid),
			 void (*visit)(void *arg, pid_t pid, const char *dir), void *arg)
{
	DIR *proc = opendir("/proc");

	for (struct dirent *d; proc && (d = readdir(proc));) {
		pid_t pid = isdigit((unsigned char)d->d_name[0]) ? atoi(d->d_name) : 0;
		char *dir = pid && may_be(arg, pid) ? read_session(pid) : NULL;

		if (dir)
			visit(arg, pid, dir);
		free(dir);
	}
	if (proc)
		closedir(proc);
}

/* The processes of one session. */
struct session_visit {
	const char *dir;
	bool (*may_be)(void *arg, pid_t pid);
	void (*visit)(void *arg, pid_t pid);
	void *arg;
	unsigned int n;
};

static bool is_candidate(void *arg, pid_t pid)
{
	const struct session_visit *visited = arg;

	return !visited->may_be || visited->may_be(visited->arg, pid);
}

static void visit_guest(void *arg, pid_t pid, const char *dir)
{
	struct session_visit *visited = arg;

	if (strcmp(dir, visited->dir) != 0 || !session_process_alive(pid, 0))
		return;
	visited->visit(visited->arg, pid);
	visited->n++;
}

unsigned int guests_visit(const char *dir, bool (*may_be)(void *arg, pid_t pid),
			  void (*visit)(void *arg, pid_t pid), void *arg)
{
	struct session_visit visited = { .dir = dir, .may_be = may_be, .visit = visit, .arg = arg };

	visit_guests(is_candidate, visit_guest, &visited);
	return visited.n;
}

/* The number after @key in the file @path; 0: not found. */
static uint64_t read_number(const char *path, const char *key)
{
	uint64_t value = 0;
	char *text, *at;
	size_t bytes;

	if (read_file(path, &text, &bytes))
		return 0;
	at = strstr(text, key);
	if (at)
		value = strtoull(at + strlen(key), NULL, 10);
	free(text);
	return value;
}

static uint64_t count_forks(void)
{
	return read_number("/proc/stat", "\nprocesses ");
}

struct guests_moment guests_mark(pid_t pid)
{
	return (struct guests_moment){ .pid = pid, .forks = count_forks() };
}

/* Half of the pids are reserved for failed forks, which use a pid but are not counted. */
bool guests_grow_since(const struct guests_moment *moment)
{
	uint64_t max = read_number("/proc/sys/kernel/pid_max", ""), forks = count_forks();

	return moment->forks && forks >= moment->forks && max > (uint64_t)moment->pid &&
	       forks - moment->forks < (max - (uint64_t)moment->pid) / 2;
}

struct pid_list {
	pid_t *pids;
	unsigned int n, max;
};

static void list_pid(void *arg, pid_t pid)
{
	struct pid_list *list = arg;

	if (list->n < list->max)
		list->pids[list->n++] = pid;
}

unsigned int guests_scan(const char *dir, pid_t *pids, unsigned int max)
{
	return guests_visit(dir, NULL, list_pid, &(struct pid_list){ .pids = pids, .max = max });
}

pid_t guests_inner_pid(pid_t pid)
{
	char path[40], *text, *at;
	size_t bytes;
	pid_t inner = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_file(path, &text, &bytes))
		return 0;
	at = strstr(text, "\nNSpid:");
	for (at = at ? at + strlen("\nNSpid:") : NULL; at && (*at == '\t' || isdigit(*at));)
		inner = (pid_t)strtol(at, &at, 10);
	free(text);
	return inner;
}

bool guests_has_thread(pid_t pid, pid_t tid)
{
	char path[56];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

/*
 * From <linux/pidfd.h> of kernel 6.15, which is newer than our headers: the exit status of a
 * process that is dead and reaped.
 */
struct pidfd_info_v0 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};

#define PIDFD_EXIT_V0     (1u << 3)
#define PIDFD_GET_INFO_V0 _IOWR(0xff, 11, struct pidfd_info_v0)

int guests_watch(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec */
}

/* The exit code of a zombie, if we may see it. */
static int zombie_status(pid_t pid)
{
	struct proc_stat stat;
	int status = proc_stat_read(pid, 0, &stat) && stat.state == 'Z' ? stat.exit_code : -1;

	return status > 0 ? status : -1; /* 0 may mean that we are not allowed to see the status */
}

static int reaped_status(int fd)
{
	struct pidfd_info_v0 info = { .mask = PIDFD_EXIT_V0 };

	return !ioctl(fd, PIDFD_GET_INFO_V0, &info) && info.mask & PIDFD_EXIT_V0 ? info.exit_code
										 : -1;
}

int guests_status(int fd, pid_t pid)
{
	int status;

	if (fd < 0)
		return -1;
	status = reaped_status(fd);
	if (status == -1)
		status = zombie_status(pid);
	if (status == -1) /* reaped in between */
		status = reaped_status(fd);
	close(fd);
	return status;
}

/* Can the memory map of @pid be read, and does it lack files of @dir? */
static bool maps_lack_files(pid_t pid, const char *dir)
{
	char path[40];
	size_t bytes;
	char *maps = NULL;
	bool lack;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	lack = !read_file(path, &maps, &bytes) && bytes && !strstr(maps, dir);
	free(maps);
	return lack;
}

bool guests_is_foreign(pid_t pid, const struct session *session)
{
	uint64_t start = session_process_start(pid);

	return start && (start < session->collector_start || maps_lack_files(pid, session->dir));
}

/* Does a living process own the ring? */
static bool ring_lives(const struct session *session, int at, uint32_t index)
{
	char path[SESSION_PATH + 16];
	struct ring ring = { 0 };
	bool lives;
	pid_t pid;

	if (session_open_ring(at, index, &ring))
		return false;
	session_ring_path(session, index, path);
	pid = (pid_t)ring.head->pid;
	/* the pid may have been reused: the new process has not mapped the ring */
	lives = session_process_alive(pid, 0) && !maps_lack_files(pid, path);
	ring_close(&ring);
	return lives;
}

/* Is the recorder of a session alive? @page: of the session; @at: its directory. */
static bool recorder_lives(const struct session_page *page, int at)
{
	return (page->collector && session_is_locked(at)) || session_has_collector(page);
}

static bool has_live_ring(const struct session *session, int at)
{
	uint32_t *rings;
	int n = session_list_rings(at, &rings);
	bool lives = false;

	for (int i = 0; i < n && !lives; i++)
		lives = ring_lives(session, at, rings[i]);
	if (n >= 0)
		free(rings);
	return lives || n < 0;
}

bool guests_in_use(const struct session *session)
{
	int at = session_open_dir(session);
	pid_t pid;
	bool used = at >= 0 && (recorder_lives(session->page, at) ||
				guests_scan(session->dir, &pid, 1) || has_live_ring(session, at));

	if (at >= 0)
		close(at);
	return used;
}

/* Has any ring of the session ever held an event? */
static bool has_held_events(int at)
{
	uint32_t *rings;
	int n = session_list_rings(at, &rings);
	bool holds = n < 0;

	for (int i = 0; i < n && !holds; i++) {
		struct ring ring = { 0 };

		if (session_open_leftover(at, rings[i], &ring))
			continue;
		holds = atomic_load(&ring.head->tail);
		ring_close(&ring);
	}
	if (n >= 0)
		free(rings);
	return holds;
}

/*
 * Read the page of the session in @at. Not by session_join(), which rejects sessions of a recorder
 * with another list of verbs.
 */
static bool read_page(int at, const struct session_page *ours, struct session_page *page)
{
	uint64_t bytes;
	bool read_whole;
	int fd = dir_open_file(at, "session", O_RDONLY, &bytes);

	if (fd < 0)
		return false;
	read_whole = read(fd, page, sizeof(*page)) == sizeof(*page);
	close(fd);
	return read_whole && page->magic == ours->magic && page->version == ours->version;
}

/* The sessions of dead recorders. */
struct leftover_session {
	char dir[SESSION_PATH];
	bool used; /* a living process was started with the session */
};

struct leftover_sessions {
	const struct session *ours;
	struct leftover_session *all;
	size_t n;
};

/* Open the session of a recorder that has died; -1: it is not one. */
static int open_leftover(const struct leftover_sessions *leftovers, const char *dir,
			 struct session_page *page)
{
	int at = dir_open(AT_FDCWD, dir);

	if (at < 0 || (read_page(at, leftovers->ours->page, page) && !recorder_lives(page, at)))
		return at;
	close(at);
	return -1;
}

/*
 * Any user may create files in the shared directory: only directories of this user that are named
 * like a session are considered.
 */
static void list_leftovers(struct leftover_sessions *leftovers)
{
	const char *ours = leftovers->ours->dir, *slash = strrchr(ours, '/');
	char dir[SESSION_PATH];
	DIR *list;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - ours), ours);
	list = opendir(dir);
	for (struct dirent *d; list && (d = readdir(list));) {
		struct session_page page;
		struct leftover_session *found;
		int at;

		if (!session_is_by_collector(d->d_name) || !strcmp(d->d_name, slash + 1) ||
		    snprintf(dir, sizeof(dir), "%.*s/%s", (int)(slash - ours), ours, d->d_name) >=
			    (int)sizeof(dir))
			continue;
		at = open_leftover(leftovers, dir, &page);
		found = at < 0 ? NULL : vec_push(leftovers->all, leftovers->n);
		if (found)
			memcpy(found->dir, dir, sizeof(dir));
		if (at >= 0)
			close(at);
	}
	if (list)
		closedir(list);
}

static bool accept_any_pid(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
	return true;
}

static void mark_used_session(void *arg, pid_t pid, const char *dir)
{
	struct leftover_sessions *leftovers = arg;

	for (size_t i = 0; i < leftovers->n; i++)
		if (!strcmp(leftovers->all[i].dir, dir) && session_process_alive(pid, 0))
			leftovers->all[i].used = true;
}

/*
 * Remove the session @dir, unless a process uses its rings or it has events. Returns whether it
 * remains because of its events.
 */
static bool sweep_session(const struct leftover_sessions *leftovers, const char *dir)
{
	struct session_page page;
	struct session session = { 0 };
	int at = open_leftover(leftovers, dir, &page);
	bool kept = false;

	if (at < 0)
		return false;
	snprintf(session.dir, sizeof(session.dir), "%s", dir);
	if (!has_live_ring(&session, at)) {
		kept = page.fingerprint == verbs_fingerprint && has_held_events(at);
		if (!kept) {
			session_clear(at);
			unlinkat(AT_FDCWD, dir, AT_REMOVEDIR);
		}
	}
	close(at);
	return kept;
}

/* Report sessions that remain, in one line: @first is the directory of one of them. */
static void report_remaining(unsigned int n, const char *first)
{
	if (n == 1)
		log_note("a recorder died and left events in %s: 'verbatim collect %s' converts "
			 "them to a trace and removes the directory",
			 first, first);
	else if (n)
		log_note("%u recorders died and left events, one of them in %s: 'verbatim collect "
			 "%s' converts its events to a trace and removes the directory",
			 n, first, first);
}

/* Processes are scanned once, after the recorders of the sessions were found to be dead. */
void guests_remove_leftovers(const struct session *ours, bool quiet)
{
	struct leftover_sessions leftovers = { .ours = ours };
	const char *first = NULL;
	unsigned int n = 0;

	list_leftovers(&leftovers);
	if (leftovers.n)
		visit_guests(accept_any_pid, mark_used_session, &leftovers);
	for (size_t i = 0; i < leftovers.n; i++)
		if (!leftovers.all[i].used && sweep_session(&leftovers, leftovers.all[i].dir) &&
		    !n++)
			first = leftovers.all[i].dir;
	if (!quiet)
		report_remaining(n, first);
	free(leftovers.all);
}

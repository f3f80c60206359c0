/*
 * A session: one directory, one page, a ring for each thread
 *
 * The directory is made by mkdtemp (0700, a name that nobody could put in the
 * way); who joins checks that it is a directory of its own user, closed to
 * others and not a link. Nothing of it survives session_remove().
 *
 * A pid alone does not name a process: pids come back. With the start time of
 * /proc/PID/stat it does.
 *
 * Not here: what is in a ring (ring.c), who empties it (cli/collector.c).
 */
#include "core/wire/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/desc.h"

#define MAGIC 0x6e6f697373655376ull /* "vSession" */

enum { VERSION = 1 };

static const char *default_parent(void)
{
	const char *given = getenv("VERBATIM_SESSIONS");

	if (given && *given)
		return given;
	return access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
}

static int map_page(struct session *session, int flags)
{
	char path[SESSION_PATH + 16];
	void *page = MAP_FAILED;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/session", session->dir);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	if (flags & O_CREAT)
		err = -posix_fallocate(fd, 0, sizeof(struct session_page));
	else if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct session_page))
		err = -EPROTO;
	if (!err)
		page = mmap(NULL, sizeof(struct session_page), PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	if (!err && page == MAP_FAILED)
		err = -errno;
	close(fd);
	if (!err)
		session->page = page;
	return err;
}

static void fill_page(struct session_page *page, uint64_t ring_bytes, enum session_on_full on_full)
{
	page->version = VERSION;
	page->on_full = on_full;
	page->fingerprint = verbs_fingerprint;
	page->ring_bytes = ring_bytes;
	page->collector = (uint32_t)getpid();
	page->collector_start = session_process_start(getpid());
	clock_init(&page->clock);
	atomic_store_explicit(&page->state, SESSION_RUNNING, memory_order_relaxed);
	/* pairs with the load in session_join() */
	__atomic_store_n(&page->magic, MAGIC, __ATOMIC_RELEASE);
}

int session_create(struct session *session, const char *parent, uint64_t ring_bytes,
		   enum session_on_full on_full)
{
	struct session made = { 0 };
	int err;

	if (!parent)
		parent = default_parent();
	if (snprintf(made.dir, sizeof(made.dir), "%s/verbatim-%u-XXXXXX", parent,
		     (unsigned int)getuid()) >= (int)sizeof(made.dir))
		return -ENAMETOOLONG;
	if (!mkdtemp(made.dir))
		return -errno;
	err = map_page(&made, O_CREAT | O_EXCL);
	if (err) {
		session_remove(&made);
		return err;
	}
	fill_page(made.page, ring_bytes, on_full);
	*session = made;
	return 0;
}

static int check_dir(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EACCES;
	return 0;
}

int session_join(struct session *session, const char *dir)
{
	struct session joined = { 0 };
	int err;

	if (snprintf(joined.dir, sizeof(joined.dir), "%s", dir) >= (int)sizeof(joined.dir))
		return -ENAMETOOLONG;
	err = check_dir(dir);
	if (!err)
		err = map_page(&joined, 0);
	if (err)
		return err;
	/* pairs with the store in fill_page() */
	if (__atomic_load_n(&joined.page->magic, __ATOMIC_ACQUIRE) != MAGIC ||
	    joined.page->version != VERSION || joined.page->fingerprint != verbs_fingerprint) {
		session_leave(&joined);
		return -EPROTO;
	}
	*session = joined;
	return 0;
}

void session_leave(struct session *session)
{
	if (session->page)
		munmap(session->page, sizeof(*session->page));
	session->page = NULL;
}

void session_remove(struct session *session)
{
	DIR *dir = opendir(session->dir);

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (!strncmp(d->d_name, "ring.", 5) || !strcmp(d->d_name, "session"))
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(session->dir);
	session_leave(session);
}

void session_ring_path(const struct session *session, uint32_t index, char *path)
{
	snprintf(path, SESSION_PATH + 16, "%s/ring.%u", session->dir, index);
}

/* What /proc/PID/stat says of a process. */
struct stat_line {
	char state;
	unsigned long long threads; /* 1 where only a dead leader is left */
	unsigned long long start;
};

static bool read_stat(pid_t pid, struct stat_line *line)
{
	char path[32], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	at = strrchr(text, ')'); /* the name before it may hold anything */
	/* fields 3, 20 and 22 of proc(5) */
	return at && sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				    "%*s %*s %*s %llu %*s %llu",
			    &line->state, &line->threads, &line->start) == 3;
}

uint64_t session_process_start(pid_t pid)
{
	struct stat_line line;

	return read_stat(pid, &line) ? line.start : 0;
}

/*
 * A zombie has ended: its memory is gone. Not so the leader that has left by
 * pthread_exit() while other threads go on; it is in state Z, too.
 */
bool session_process_alive(pid_t pid, uint64_t start)
{
	struct stat_line line;

	if (!read_stat(pid, &line)) /* no such process; or no /proc to ask */
		return !kill(pid, 0) || errno == EPERM;
	if (start && line.start != start)
		return false;
	return (line.state != 'Z' && line.state != 'X') || line.threads > 1;
}

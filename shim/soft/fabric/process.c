/*
 * Kernel data about processes, and a page to recognise a child
 *
 * A pid alone does not identify a process, because pids are reused; a pid with the start time does.
 * A child recognises itself by a page that the kernel empties on fork; pthread_atfork() would miss
 * a bare clone().
 */
#include "shim/soft/fabric/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static uint32_t no_epoch;
static uint32_t last_epoch;

uint32_t *process_epoch_page = &no_epoch;

/*
 * Read "pid (comm) state", 17 fields, the number of threads, one field, and the start time:
 * proc(5). A leader thread that has exited before the others is in state Z, too.
 */
static uint64_t parse_stat(const char *stat)
{
	const char *p = strrchr(stat, ')');
	unsigned long long start;
	long threads;
	char state;

	if (!p || sscanf(p + 1,
			 " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
			 " %*u %*u %*d %*d %*d %*d %ld %*d %llu",
			 &state, &threads, &start) != 3)
		return 0;
	if (state == 'X' || (state == 'Z' && threads <= 1))
		return 0;
	return start;
}

static int read_stat(int pid, char *stat, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, stat, size - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	stat[n] = '\0';
	return 0;
}

uint64_t process_start(int pid)
{
	char stat[1024];

	return read_stat(pid, stat, sizeof(stat)) < 0 ? 0 : parse_stat(stat);
}

/* If no file descriptor is left, this checks only the pid. */
bool process_lives(int pid, uint64_t start)
{
	char stat[1024];
	int err, saved = errno;
	bool lives;

	err = read_stat(pid, stat, sizeof(stat));
	if (!err)
		lives = parse_stat(stat) == start;
	else if (err == -ENOENT || err == -ESRCH)
		lives = false;
	else
		lives = kill(pid, 0) == 0 || errno == EPERM;
	errno = saved;
	return lives;
}

bool process_is_stopped(int pid)
{
	char stat[1024], state = 0;
	int saved = errno;
	const char *p;

	p = read_stat(pid, stat, sizeof(stat)) < 0 ? NULL : strrchr(stat, ')');
	if (p)
		sscanf(p + 1, " %c", &state);
	errno = saved;
	return state == 'T' || state == 't';
}

int process_new_epoch(void)
{
	uint32_t *page = process_epoch_page;

	if (*page)
		return 0;
	if (page == &no_epoch) {
		page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return -errno;
		if (madvise(page, sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) < 0) {
			munmap(page, sysconf(_SC_PAGESIZE));
			return -errno;
		}
		process_epoch_page = page;
	}
	*page = ++last_epoch;
	return 0;
}

int process_pid(void)
{
	static uint64_t own; /* | epoch | process ID | */
	uint64_t epoch = process_epoch(), known = __atomic_load_n(&own, __ATOMIC_RELAXED);

	if (epoch && known >> 32 == epoch)
		return (int)known;
	known = epoch << 32 | (uint32_t)getpid();
	__atomic_store_n(&own, known, __ATOMIC_RELAXED);
	return (int)known;
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t process_now(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

uint64_t process_now_coarse(void)
{
	return ns_of(CLOCK_MONOTONIC_COARSE);
}

bool process_vm_is_refused(void)
{
	const char *knob = getenv("VERBATIM_SOFT_VM");
	char from = 0, to;
	struct iovec here = { &to, 1 }, there = { &from, 1 };

	return (knob && !strcmp(knob, "off")) ||
	       process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1;
}

/* Access address 0, where nothing is mapped: the kernel checks the permission first. */
bool process_vm_is_forbidden(int pid)
{
	struct iovec here, there = { NULL, 1 };
	char byte;

	here = (struct iovec){ &byte, 1 };
	return process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 &&
	       (errno == EPERM || errno == ENOSYS);
}

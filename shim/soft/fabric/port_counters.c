/*
 * Counters of the ports
 *
 * VERBATIM_SOFT_COUNTERS is a directory with the layout of /sys/class/infiniband:
 *
 *	verbatim0/ports/1/hw_counters/local_ack_timeout_err	"      67\n"
 *
 * All processes with the same directory share the counters, like processes on one device. Each of
 * them maps the file, and changes its eight digits by one atomic exchange: no process waits for
 * another, which may be stopped or killed, and a reader always finds a number.
 *
 * Not here: the other counters, which are always 0 (sysfs/sysfs.c): out_of_buffer belongs to the
 * receiver, and the sender, which would count it, does not know the receiver's directory.
 */
#include "shim/soft/fabric/port_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/profile.h"

enum { DIGITS = 8, PORTS = 8, PATH = 512 };

static const char zero[DIGITS + 2] = "       0\n";

/* clang-format off */
const char *const port_counter_names[PORT_COUNTERS] = {
	[PORT_COUNTER_ACK_TIMEOUT]	= "hw_counters/local_ack_timeout_err",
	[PORT_COUNTER_RNR]		= "hw_counters/rnr_nak_retry_err",
	[PORT_COUNTER_LINK_DOWN]	= "counters/link_downed",
};
/* clang-format on */

/* The mapped files; MAP_FAILED: a file could not be mapped. */
static uint64_t *mapped[PORTS][PORT_COUNTERS];

bool port_counters_path(uint32_t port, enum port_counter counter, char *path, size_t size)
{
	const char *dir = getenv("VERBATIM_SOFT_COUNTERS");
	int n;

	if (!dir || !*dir)
		return false;
	n = snprintf(path, size, "%s/%s/ports/%u/%s", dir, profile_get()->name, port,
		     port_counter_names[counter]);
	return n > 0 && (size_t)n < size;
}

/* Create the directories above the file; VERBATIM_SOFT_COUNTERS itself must exist. */
static void make_parents(char *path)
{
	size_t given = strlen(getenv("VERBATIM_SOFT_COUNTERS"));

	for (char *slash = path + given; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

/*
 * Create the file of a counter. Several processes may do so at the same time: it is filled before
 * it gets its name.
 */
static void begin_file(const char *path)
{
	char beside[PATH];
	int fd;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.%d", path, (int)getpid()) >=
	    sizeof(beside))
		return;
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, zero, DIGITS + 1) == DIGITS + 1)
		(void)!link(beside, path);
	close(fd);
	unlink(beside);
}

static int open_file(char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	make_parents(path);
	begin_file(path);
	return open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static uint64_t *map_file(uint32_t port, enum port_counter counter)
{
	void *at = MAP_FAILED;
	char path[PATH];
	struct stat st;
	int fd = -1;

	if (port_counters_path(port, counter, path, sizeof(path)))
		fd = open_file(path);
	if (fd < 0)
		return MAP_FAILED;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == DIGITS + 1)
		at = mmap(NULL, DIGITS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at;
}

/* The digits in the file of a counter; NULL: the counter is disabled. */
static uint64_t *find_digits(uint32_t port, enum port_counter counter)
{
	uint64_t **place, *digits, *before = NULL;
	int saved = errno;

	if (!port || port > PORTS)
		return NULL;
	place = &mapped[port - 1][counter];
	digits = __atomic_load_n(place, __ATOMIC_ACQUIRE); /* pairs with the exchange below */
	if (!digits) {
		digits = map_file(port, counter);
		/* pairs with the load above */
		if (!__atomic_compare_exchange_n(place, &before, digits, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			if (digits != MAP_FAILED)
				munmap(digits, DIGITS);
			digits = before;
		}
		errno = saved;
	}
	return digits == MAP_FAILED ? NULL : digits;
}

/* The digits of the next number; 99999999 does not change. */
static uint64_t increment_digits(uint64_t digits)
{
	char text[DIGITS + 2];
	unsigned long value;

	memcpy(text, &digits, DIGITS);
	text[DIGITS] = '\0';
	value = strtoul(text, NULL, 10) + 1;
	if (value > 99999999)
		return digits;
	snprintf(text, sizeof(text), "%*lu", DIGITS, value);
	memcpy(&digits, text, DIGITS);
	return digits;
}

void port_counters_add(uint32_t port, enum port_counter counter)
{
	uint64_t *digits = find_digits(port, counter), now;

	if (!digits)
		return;
	now = __atomic_load_n(digits, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(digits, &now, increment_digits(now), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void port_counters_publish(void)
{
	for (uint32_t port = 1; port_at(port); port++)
		for (int i = 0; i < PORT_COUNTERS; i++)
			find_digits(port, (enum port_counter)i);
}

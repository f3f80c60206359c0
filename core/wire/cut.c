/*
 * Files of a session that were truncated while they are mapped
 *
 * Any process that may write to a file can truncate it. F_ADD_SEALS does not help: it works only
 * for memory without a name, and a ring must outlive its program and its recorder. So we repair the
 * fault when it occurs. The mapping is looked up in /proc/self/maps and not in a list of our own,
 * which a signal handler might find half changed.
 */
#include "core/wire/cut.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/ring.h"

enum { LINE = 512 }; /* bytes of a line that are read: more than a session's path */

static uintptr_t read_hex(const char **at)
{
	uintptr_t n = 0;

	for (;; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			n = n << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return n;
	}
}

static bool is_of_session(const char *path, const char *dir)
{
	const char *slash = strrchr(path, '/');
	size_t n = (size_t)(slash - path);

	if (dir && (strlen(dir) != n || memcmp(dir, path, n) != 0))
		return false;
	return !strncmp(slash, "/ring.", 6) || !strncmp(slash, "/session", 8);
}

/*
 * If @line describes the mapping that contains @at, map zeros from @at on: 1; 0: another mapping;
 * -1: it failed.
 */
static int repair_mapping(const char *line, const char *dir, uintptr_t at)
{
	const char *path = strchr(line, '/');
	uintptr_t start = read_hex(&line), end, page = at & ~(uintptr_t)(RING_PAGE - 1);

	line++; /* skip the '-' */
	end = read_hex(&line);
	if (at < start || at >= end)
		return 0;
	if (!path || !is_of_session(path, dir))
		return -1;
	return mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED
		       ? -1
		       : 1;
}

bool cut_repair(const char *dir, const void *at)
{
	char bytes[LINE], line[LINE];
	size_t used = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), found = 0;
	ssize_t n;

	while (fd >= 0 && !found && (n = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n && !found; i++) {
			if (bytes[i] != '\n') {
				if (used < LINE - 1)
					line[used++] = bytes[i];
				continue;
			}
			line[used] = '\0';
			used = 0;
			found = repair_mapping(line, dir, (uintptr_t)at);
		}
	if (fd >= 0)
		close(fd);
	return found > 0;
}

static void on_bus(int signal, siginfo_t *info, void *context)
{
	const struct sigaction end = { .sa_handler = SIG_DFL };

	(void)context;
	/* if the mapping was not repaired, the fault occurs again and ends the process */
	if (info->si_code != BUS_ADRERR || !cut_repair(NULL, info->si_addr))
		sigaction(signal, &end, NULL);
}

void cut_catch(void)
{
	const struct sigaction catch = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &catch, NULL);
}

/*
 * Reading /proc about processes of a recording
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/proc_stat.h"
#include "core/wire/session.h"

uint64_t session_process_time(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, 0, &stat) ? stat.user + stat.system : 0;
}

uint64_t session_process_start(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, 0, &stat) ? stat.start : 0;
}

/*
 * A zombie has ended, and its memory is freed. But state Z also has a leader thread that has ended
 * by pthread_exit() while other threads continue.
 */
bool session_process_alive(pid_t pid, uint64_t start)
{
	struct proc_stat stat;

	if (!proc_stat_read(pid, 0, &stat)) /* no such process, or no /proc */
		return !kill(pid, 0) || errno == EPERM;
	if (start && stat.start != start)
		return false;
	return (stat.state != 'Z' && stat.state != 'X') || stat.threads > 1;
}

bool session_has_collector(const struct session_page *page)
{
	/* read first: if the collector dies, this process becomes the collector */
	pid_t standby = (pid_t)__atomic_load_n(&page->standby, __ATOMIC_ACQUIRE);

	if (!page->collector)
		return false;
	return session_process_alive((pid_t)page->collector, page->collector_start) ||
	       (standby && session_process_alive(standby, 0));
}

/* The number after @name in the text of /proc/self/status. */
static uint32_t number_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : UINT32_MAX;
}

/* Before Linux 5.9, /proc/self/status says only whether there is any filter. */
uint32_t session_filters(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return number_of(text, "\nSeccomp:") ? number_of(text, "\nSeccomp_filters:") : 0;
}

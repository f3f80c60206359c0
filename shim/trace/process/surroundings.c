/*
 * The environment of a process: its limits, and environment variables of RDMA libraries
 *
 * All of this is read from files of /proc/self and from memory: a filter of system calls that
 * allows reading the command line also allows reading these files.
 *
 * Not here: which variables may be recorded (core/wire/variable.c); whether the kernel copies
 * registered pages at a fork: this is equal for all processes, and the recorder checks it
 * (cli/record/copies.c).
 */
#include "shim/trace/process/surroundings.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/variable.h"

enum {
	FILE_BYTES = 4096,
	VALUE_BYTES = 255, /* longest stored value of a variable */
	NAME_BYTES = 63,
};

/* Read a file of /proc as text; "" if it cannot be read. */
static void read_text(const char *path, char text[FILE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, FILE_BYTES - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* The text after @name in @text; NULL: none. */
static const char *find_line(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? at + strlen(name) : NULL;
}

/* Read "unlimited" or a number; advances @at. */
static uint64_t read_limit(const char **at)
{
	uint64_t limit = EVENT_UNLIMITED;
	char *end;

	*at += strspn(*at, " ");
	if (**at >= '0' && **at <= '9') {
		limit = strtoull(*at, &end, 10);
		*at = end;
	} else {
		*at += strcspn(*at, " \n");
	}
	return limit;
}

/*
 * Read CAP_IPC_LOCK. The RDMA core checks the capability in the initial user namespace: "root" of a
 * container has the bit, but not the capability.
 */
static enum event_ipc_lock read_ipc_lock(char text[FILE_BYTES])
{
	const char *caps;
	uint64_t held;
	bool first;

	read_text("/proc/self/uid_map", text);
	first = !*text || (strtoull(text, NULL, 10) == 0 && strstr(text, " 4294967295\n"));
	read_text("/proc/self/status", text);
	caps = find_line(text, "\nCapEff:");
	if (!caps)
		return IPC_LOCK_UNKNOWN;
	held = strtoull(caps, NULL, 16);
	return first && held >> CAP_IPC_LOCK & 1 ? IPC_LOCK_HELD : IPC_LOCK_MISSING;
}

void surroundings_limits(struct event_process *event)
{
	char text[FILE_BYTES];
	const char *memlock, *nofile;

	event->page_size = 0;
	event->ipc_lock = IPC_LOCK_UNKNOWN;
	event->memlock = event->memlock_most = event->nofile = event->nofile_most = 0;
	read_text("/proc/self/limits", text);
	memlock = find_line(text, "Max locked memory");
	nofile = find_line(text, "Max open files");
	if (!memlock || !nofile)
		return;
	event->memlock = read_limit(&memlock);
	event->memlock_most = read_limit(&memlock);
	event->nofile = read_limit(&nofile);
	event->nofile_most = read_limit(&nofile);
	event->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	event->ipc_lock = (uint8_t)read_ipc_lock(text);
}

/*
 * Variables that libibverbs or the software device reads later, after the program may have set
 * them.
 */
static const char *const asked_for[] = { "RDMAV_FORK_SAFE", "IBV_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE",
					 "VERBATIM_SOFT_FORK" };

static bool is_asked_for(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(asked_for) / sizeof(*asked_for); i++)
		if (strlen(asked_for[i]) == n && !strncmp(asked_for[i], name, n))
			return true;
	return false;
}

/*
 * Write NAME=VALUE after the @used bytes of @text, with the value truncated; returns the number of
 * bytes that are then used.
 */
static size_t put_variable(char *text, size_t used, const char *name, size_t length,
			   const char *value)
{
	size_t n = strnlen(value, VALUE_BYTES);

	if (length > NAME_BYTES || used + length + n + 2 > SURROUNDINGS_BYTES)
		return used;
	memcpy(text + used, name, length);
	text[used + length] = '=';
	memcpy(text + used + length + 1, value, n);
	text[used + length + 1 + n] = '\0';
	return used + length + n + 2;
}

static size_t put_if_recorded(char *text, size_t used, const char *variable)
{
	const char *equals = strchr(variable, '=');
	size_t length = equals ? (size_t)(equals - variable) : 0;

	if (!equals || is_asked_for(variable, length) ||
	    !variable_is_recorded(variable, length, equals + 1))
		return used;
	return put_variable(text, used, variable, length, equals + 1);
}

/* If a variable is longer than chunk[], only its beginning is used. */
size_t surroundings_read(int fd, char *text, size_t used)
{
	char chunk[FILE_BYTES], *at, *end;
	size_t have = 0;
	bool cut = false;
	ssize_t n;

	while ((n = read(fd, chunk + have, sizeof(chunk) - 1 - have)) > 0) {
		have += (size_t)n;
		at = chunk;
		while ((end = memchr(at, '\0', have))) {
			if (!cut)
				used = put_if_recorded(text, used, at);
			cut = false;
			have -= (size_t)(end + 1 - at);
			at = end + 1;
		}
		memmove(chunk, at, have);
		if (have < sizeof(chunk) - 1)
			continue;
		chunk[have] = '\0';
		if (!cut)
			used = put_if_recorded(text, used, chunk);
		cut = true;
		have = 0;
	}
	return used;
}

/*
 * The variables are read from the kernel, which has the initial environment, since another thread
 * may be changing `environ`. Only variables that libibverbs itself reads later are read from
 * `environ`.
 */
size_t surroundings_environ(char *text)
{
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	for (size_t i = 0; i < sizeof(asked_for) / sizeof(*asked_for); i++) {
		const char *value = getenv(asked_for[i]);

		if (value)
			used = put_variable(text, used, asked_for[i], strlen(asked_for[i]), value);
	}
	if (fd < 0)
		return used;
	used = surroundings_read(fd, text, used);
	close(fd);
	return used;
}

/*
 * What a process runs in: its limits, and what its environment tells RDMA libraries
 *
 * All of it is read from files of /proc/self and from memory: a filter of system calls
 * that lets a process read its command line lets it read these.
 *
 * Not here: whether the kernel copies registered pages at a fork, which is the same for
 * all processes: the recorder asks (cli/record/copies.c).
 */
#include "shim/trace/process/surroundings.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FILE_BYTES = 4096,
	VALUE_BYTES = 255, /* of a variable's value, at most */
	NAME_BYTES = 63,
};

/* A file of /proc as text; "" where it cannot be read. */
static void read_text(const char *path, char text[FILE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, FILE_BYTES - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* What follows @name in @text; NULL: it is not there. */
static const char *find_line(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? at + strlen(name) : NULL;
}

/* "unlimited" or a number; @at behind it. */
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
 * The RDMA core asks for the capability in the first user namespace: "root" of a container
 * has the bit, and not the capability.
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

/* None of them is where anybody keeps a secret. */
static bool is_of_rdma(const char *variable)
{
	static const char *const prefixes[] = { "RDMAV_",    "IBV_",  "UCX_",  "NCCL_",    "FI_",
						"OMPI_MCA_", "MLX5_", "MLX4_", "VERBATIM_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

size_t surroundings_environ(char *text)
{
	size_t used = 0;

	for (char **at = environ; at && *at; at++) {
		const char *equals = is_of_rdma(*at) ? strchr(*at, '=') : NULL;
		size_t n;

		if (!equals || equals - *at > NAME_BYTES)
			continue;
		n = (size_t)(equals + 1 - *at) + strnlen(equals + 1, VALUE_BYTES);
		if (used + n + 1 > SURROUNDINGS_BYTES)
			break;
		memcpy(text + used, *at, n);
		text[used + n] = '\0';
		used += n + 1;
	}
	return used;
}

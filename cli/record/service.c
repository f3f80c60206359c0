/*
 * What a recorder tells systemd: states of sd_notify, and the native protocol of the journal
 *
 * 	NAME=value\n			a field
 * 	NAME\n length(8) value \n	one whose value has a line feed
 */
#include "cli/record/service.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/record/hooks.h"
#include "core/base/text.h"

static bool send_datagram(const char *path, const char *bytes, size_t n)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	bool sent;
	int fd;

	if (length < 2 || length >= sizeof(to.sun_path) || !strchr("/@", *path))
		return false;
	memcpy(to.sun_path, path, length);
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	sent = sendto(fd, bytes, n, MSG_NOSIGNAL, (struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == (ssize_t)n;
	close(fd);
	return sent;
}

bool service_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");

	return path && send_datagram(path, state, strlen(state));
}

uint64_t service_watchdog_interval(void)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!period || !getenv("NOTIFY_SOCKET") || (pid && atoi(pid) != getpid()))
		return 0;
	return strtoull(period, NULL, 10) * 1000;
}

bool service_has_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

static void add_field(struct text *to, const char *prefix, const char *name, const char *value)
{
	size_t n = strlen(value);
	uint64_t length = htole64(n);

	text_addf(to, "%s", prefix);
	for (; *name; name++)
		text_char(to, (char)toupper((unsigned char)*name));
	if (!strchr(value, '\n')) {
		text_addf(to, "=%s\n", value);
		return;
	}
	text_char(to, '\n');
	text_add(to, (const char *)&length, sizeof(length));
	text_add(to, value, n);
	text_char(to, '\n');
}

bool service_log(const char *path, int priority, const char *message, const struct hook_fact *facts)
{
	struct text entry = { 0 };
	char number[32];
	bool sent;

	add_field(&entry, "", "MESSAGE", message);
	add_field(&entry, "", "SYSLOG_IDENTIFIER", "verbatim");
	snprintf(number, sizeof(number), "%d", priority);
	add_field(&entry, "", "PRIORITY", number);
	for (const struct hook_fact *fact = facts; fact->name; fact++) {
		snprintf(number, sizeof(number), "%" PRIu64, fact->number);
		add_field(&entry, "VERBATIM_", fact->name, fact->text ? fact->text : number);
	}
	sent = !entry.failed && send_datagram(path, entry.at, entry.used);
	text_fini(&entry);
	return sent;
}

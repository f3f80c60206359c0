/*
 * Reads /proc/PID/stat: one line of fields, numbered from 1 in proc(5)
 *
 *	4711 (name) S 1 4711 ...
 *
 * The name may contain anything, also brackets and spaces: it ends at the last ")" of the line.
 */
#include "core/base/proc_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE = 3, FLAGS = 9, USER = 14, SYSTEM, THREADS = 20, START = 22, ENVIRON_END = 51, CODE };

bool proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *at = strrchr(text, ')');
	uint64_t fields[CODE + 1] = { 0 };
	int n = STATE;

	if (!at || at[1] != ' ' || !at[2])
		return false;
	for (at += 2; n < CODE && (at = strchr(at, ' ')); at++)
		fields[++n] = strtoull(at + 1, NULL, 10);
	if (n < START)
		return false;
	*ret = (struct proc_stat){
		.state = strrchr(text, ')')[2],
		.flags = fields[FLAGS],
		.user = fields[USER],
		.system = fields[SYSTEM],
		.threads = fields[THREADS],
		.start = fields[START],
		.environ_end = fields[ENVIRON_END],
		.exit_code = (int)fields[CODE],
	};
	return true;
}

bool proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *ret)
{
	char path[64], text[PROC_STAT_TEXT];
	ssize_t n;
	int fd;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return proc_stat_parse(text, ret);
}

/*
 * Reads /proc/PID
 *
 *	status		user, tracer, locked memory, number in its own namespace
 *	limits		RLIMIT_MEMLOCK, RLIMIT_NOFILE
 *	fd/		what descriptors are open on, by the text of the link
 *	maps		what is mapped where
 *	task/TID/	stat (state), wchan, syscall (number, arguments, stack pointer)
 *
 * A process changes while this is read. Each file is consistent, all of them together are not.
 *
 * Not here: memory and registers (cli/attach/stop.c).
 */
#include "cli/attach/target.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/proc_stat.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

enum { CAP_IPC_LOCK_BIT = 14 };

static int read_text(pid_t pid, const char *file, char **ret_text)
{
	char path[128];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return read_file(path, ret_text, &n);
}

/* Copies a name of foreign text up to the end of its line. */
static void copy_name(char to[TARGET_NAME], const char *from)
{
	size_t n = strcspn(from, "\n");

	if (n >= TARGET_NAME)
		n = TARGET_NAME - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* Status */

/* The text after "NAME:" and blanks at the beginning of a line. */
static const char *find_field(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, n) && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
	}
	return NULL;
}

static uint64_t read_number(const char *text, const char *name, int base)
{
	const char *value = find_field(text, name);

	return value ? strtoull(value, NULL, base) : 0;
}

/* The last number of a line: NSpid has one for each namespace, the innermost last. */
static pid_t read_last_number(const char *text, const char *name)
{
	const char *value = find_field(text, name);
	long last = 0;
	char *end;

	while (value && isdigit((unsigned char)*value)) {
		last = strtol(value, &end, 10);
		value = end + strspn(end, "\t ");
	}
	return (pid_t)last;
}

static int read_status(struct target *process)
{
	char *text;
	const char *name;
	int err = read_text(process->pid, "status", &text);

	if (err < 0)
		return err;
	name = find_field(text, "Name");
	copy_name(process->name, name ? name : "");
	process->uid = (uid_t)read_number(text, "Uid", 10);
	process->tracer = (pid_t)read_number(text, "TracerPid", 10);
	process->locked = read_number(text, "VmLck", 10) << 10;
	process->pinned = read_number(text, "VmPin", 10) << 10;
	process->ipc_lock = read_number(text, "CapEff", 16) >> CAP_IPC_LOCK_BIT & 1;
	process->inner_pid = read_last_number(text, "NSpid");
	free(text);
	return 0;
}

static uint64_t read_start(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, 0, &stat) ? stat.start : 0;
}

bool target_is_same(const struct target *process)
{
	struct proc_stat stat;

	return proc_stat_read(process->pid, 0, &stat) && stat.start == process->start &&
	       stat.state != 'Z' && stat.state != 'X';
}

/* Limits */

static const char *parse_bound(const char *text, uint64_t *ret)
{
	char *end;

	text += strspn(text, " ");
	if (!strncmp(text, "unlimited", 9)) {
		*ret = UINT64_MAX;
		return text + 9;
	}
	if (!isdigit((unsigned char)*text))
		return NULL;
	*ret = strtoull(text, &end, 10);
	return end;
}

bool target_parse_limit(const char *text, const char *name, uint64_t *ret_soft, uint64_t *ret_hard)
{
	const char *line = strstr(text, name);
	uint64_t soft, hard;

	line = line ? parse_bound(line + strlen(name), &soft) : NULL;
	line = line ? parse_bound(line, &hard) : NULL;
	if (!line)
		return false;
	*ret_soft = soft;
	*ret_hard = hard;
	return true;
}

static void read_limits(struct target *process)
{
	char *text;

	process->memlock_soft = process->memlock_hard = UINT64_MAX;
	process->nofile_soft = process->nofile_hard = UINT64_MAX;
	if (read_text(process->pid, "limits", &text) < 0)
		return;
	target_parse_limit(text, "Max locked memory", &process->memlock_soft,
			   &process->memlock_hard);
	target_parse_limit(text, "Max open files", &process->nofile_soft, &process->nofile_hard);
	free(text);
}

/* The environment of the process at its start. */
static void read_environment(struct target *process)
{
	static const char name[] = "VERBATIM_SOFT_MEMLOCK=";
	char path[128], *text;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)process->pid);
	if (read_file(path, &text, &n) < 0)
		return;
	for (size_t at = 0; at < n; at += strlen(text + at) + 1)
		if (!strncmp(text + at, name, sizeof(name) - 1))
			process->soft_memlock = true;
	free(text);
}

/* Descriptors */

static const struct {
	const char *begin;
	enum target_fd_kind kind;
} fd_kinds[] = {
	{ "/dev/infiniband/uverbs", TARGET_FD_UVERBS },
	{ "/dev/infiniband/rdma_cm", TARGET_FD_RDMA_CM },
	{ "anon_inode:[infinibandevent]", TARGET_FD_COMP_EVENT },
	{ "anon_inode:[infinibandasync]", TARGET_FD_ASYNC_EVENT },
	{ "anon_inode:inotify", TARGET_FD_INOTIFY },
	{ "socket:", TARGET_FD_SOCKET },
};

enum target_fd_kind target_fd_kind_of(const char *target)
{
	const char *last = strrchr(target, '/');

	for (size_t i = 0; i < sizeof(fd_kinds) / sizeof(*fd_kinds); i++)
		if (!strncmp(target, fd_kinds[i].begin, strlen(fd_kinds[i].begin)))
			return fd_kinds[i].kind;
	/* shim/soft/fabric/pipe.c: DIR/pipe.NODE.INSTANCE.ID */
	return last && !strncmp(last, "/pipe.", 6) ? TARGET_FD_SOFT_PIPE : TARGET_FD_OTHER;
}

static int add_fd(struct target *process, int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	struct target_fd *fd;

	if (n < 0)
		return 0; /* closed meanwhile */
	target[n] = '\0';
	fd = vec_push(process->fds, process->nfds);
	if (!fd)
		return -ENOMEM;
	fd->fd = atoi(name);
	fd->kind = target_fd_kind_of(target);
	fd->target = strdup(target);
	return fd->target ? 0 : -ENOMEM;
}

static int read_fds(struct target *process)
{
	struct dirent *entry;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)process->pid);
	dir = opendir(path);
	process->no_fds = !dir;
	if (!dir)
		return 0;
	while (!err && process->nfds < TARGET_FDS && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = add_fd(process, dirfd(dir), entry->d_name);
	closedir(dir);
	return err;
}

const struct target_fd *target_fd_find(const struct target *process, int fd)
{
	for (size_t i = 0; i < process->nfds; i++)
		if (process->fds[i].fd == fd)
			return &process->fds[i];
	return NULL;
}

size_t target_fd_count(const struct target *process, enum target_fd_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < process->nfds; i++)
		n += process->fds[i].kind == kind;
	return n;
}

/* Mappings */

bool target_parse_map(char *line, struct target_map *ret_map)
{
	struct target_map map = { 0 };
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &map.start,
		   &map.end, map.mode, &map.offset, &map.major, &map.minor, &map.inode, &at) < 7 ||
	    map.end <= map.start || !at)
		return false;
	map.path = line + at;
	*ret_map = map;
	return true;
}

static int read_maps(struct target *process)
{
	char *text, *line, *next;
	struct target_map map, *added;
	int err = read_text(process->pid, "maps", &text);

	process->no_maps = err < 0;
	if (err < 0)
		return 0;
	for (line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!target_parse_map(line, &map))
			continue;
		added = vec_push(process->maps, process->nmaps);
		if (added)
			*added = map;
		if (!added || !(added->path = strdup(map.path))) {
			free(text);
			return -ENOMEM;
		}
	}
	free(text);
	return 0;
}

const struct target_map *target_map_at(const struct target *process, uint64_t address)
{
	for (size_t i = 0; i < process->nmaps; i++)
		if (address >= process->maps[i].start && address < process->maps[i].end)
			return &process->maps[i];
	return NULL;
}

/* The file's type is checked before it is opened: opening a device may have side effects. */
int target_open(const struct target *target, const char *path, struct stat *ret_stat)
{
	char name[PATH_MAX];
	int fd, found;

	if (snprintf(name, sizeof(name), "/proc/%d/root%s", (int)target->pid, path) >=
	    (int)sizeof(name))
		return -ENAMETOOLONG;
	found = open(name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (found < 0)
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	if (fstat(found, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode))
		fd = -EPROTO;
	else if ((fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		fd = -errno;
	close(found);
	return fd;
}

/* Threads */

/* "202 0xARG... 0xSP 0xPC", "-1 0xSP 0xPC", "running" */
bool target_parse_syscall(const char *text, struct target_thread *thread)
{
	uint64_t *arguments = thread->arguments;
	long number;
	int n;

	if (sscanf(text, "%ld", &number) != 1)
		return false;
	if (number == -1) {
		thread->syscall = -1;
		return sscanf(text, "%*d %" SCNx64 " %" SCNx64, &thread->sp, &thread->pc) == 2;
	}
	n = sscanf(text,
		   "%*d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64,
		   &arguments[0], &arguments[1], &arguments[2], &arguments[3], &arguments[4],
		   &arguments[5], &thread->sp, &thread->pc);
	if (n != 8)
		return false;
	thread->syscall = number;
	return true;
}

/* Read the thread's current system call and state. */
bool target_read_call(pid_t pid, struct target_thread *thread)
{
	struct proc_stat stat;
	char file[64], *text;

	if (!proc_stat_read(pid, thread->tid, &stat))
		return false;
	thread->state = stat.state;
	thread->syscall = -2;
	snprintf(file, sizeof(file), "task/%d/syscall", (int)thread->tid);
	if (!read_text(pid, file, &text)) {
		target_parse_syscall(text, thread);
		free(text);
	}
	return true;
}

static void read_thread(pid_t pid, struct target_thread *thread)
{
	char file[64], *text;

	if (!target_read_call(pid, thread))
		return;
	snprintf(file, sizeof(file), "task/%d/comm", (int)thread->tid);
	if (!read_text(pid, file, &text)) {
		copy_name(thread->name, text);
		free(text);
	}
	snprintf(file, sizeof(file), "task/%d/wchan", (int)thread->tid);
	if (!read_text(pid, file, &text)) {
		copy_name(thread->wchan, strcmp(text, "0") ? text : "");
		free(text);
	}
}

static int read_threads(struct target *process)
{
	struct target_thread *thread;
	struct dirent *entry;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (process->nthreads < TARGET_THREADS && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		thread = vec_push(process->threads, process->nthreads);
		err = thread ? 0 : -ENOMEM;
		if (err)
			break;
		thread->tid = atoi(entry->d_name);
		read_thread(process->pid, thread);
	}
	closedir(dir);
	return err;
}

int target_read(pid_t pid, struct target *ret_target)
{
	struct target process = { .pid = pid, .start = read_start(pid) };
	int err = read_status(&process);

	if (!err)
		err = read_threads(&process);
	if (!err)
		err = read_fds(&process);
	if (!err)
		err = read_maps(&process);
	if (err) {
		target_fini(&process);
		return err == -ENOENT || err == -ESRCH
			       ? log_why(-ESRCH,
					 "no process %d: it has ended, or the number is wrong;"
					 " `pgrep -l NAME` finds it",
					 (int)pid)
			       : log_err(err, "read /proc/%d", (int)pid);
	}
	read_limits(&process);
	read_environment(&process);
	*ret_target = process;
	return 0;
}

void target_fini(struct target *process)
{
	for (size_t i = 0; i < process->nfds; i++)
		free(process->fds[i].target);
	for (size_t i = 0; i < process->nmaps; i++)
		free(process->maps[i].path);
	free(process->fds);
	free(process->maps);
	free(process->threads);
	*process = (struct target){ 0 };
}

bool target_is_foreign(const struct target *process)
{
	unsigned char head[EI_NIDENT + 4] = { 0 }, own[sizeof(head)] = { 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head))
		memset(head, 0, sizeof(head));
	if (fd >= 0)
		close(fd);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, own, sizeof(own)) != sizeof(own))
		memset(own, 0, sizeof(own));
	if (fd >= 0)
		close(fd);
	/* class, and e_machine behind e_type */
	return *head && *own &&
	       (head[EI_CLASS] != own[EI_CLASS] ||
		memcmp(head + EI_NIDENT + 2, own + EI_NIDENT + 2, 2) != 0);
}

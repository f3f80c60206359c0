/*
 * A core of a process that is stopped
 *
 * gcore must not be recorded as if it were a child of the program: it starts without the
 * environment by which a program finds the recorder, and with default signal actions.
 *
 * It opens its file by a name that others can guess, and follows a symbolic link. So it writes into
 * a private folder, which it reaches by our descriptor even if the folder is renamed; the core is
 * then moved to its name, which must be free.
 */
#include "cli/record/core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/record/launch.h"
#include "core/wire/log.h"

extern char **environ;

enum { TRIES = 100 }; /* names to try for a core */

int core_find(char found[PATH_MAX])
{
	int err = launch_find("gcore", found);

	if (err)
		log_err(err, "--core: gcore, a part of gdb");
	return err;
}

/*
 * Our environment without the variables that make a program recorded. To be freed, but not its
 * texts.
 */
static char **clean_environment(void)
{
	size_t n = 0, left = 0;
	char **clean;

	while (environ[n])
		n++;
	clean = calloc(n + 1, sizeof(*clean));
	for (size_t i = 0; clean && i < n; i++)
		if (strncmp(environ[i], "LD_", 3) && strncmp(environ[i], "VERBATIM_", 9))
			clean[left++] = environ[i];
	return clean;
}

static int spawn_gcore(const char *gcore, char **argv, char **environment, int output,
		       pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_adddup2(&actions, output, 2);
	err = posix_spawn(ret_pid, gcore, &actions, &attr, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -err;
}

/* Make the private folder beside the future core. 0 or -errno after log_err(). */
static int make_folder(struct core_file *core)
{
	snprintf(core->folder, sizeof(core->folder), "%s.XXXXXX", core->path);
	if (!mkdtemp(core->folder))
		return log_err(-errno, "make a folder for %s", core->path);
	core->dir = open(core->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (core->dir >= 0)
		return 0;
	rmdir(core->folder);
	return log_err(-errno, "open %s", core->folder);
}

static void name_written(const struct core_file *core, char name[32])
{
	snprintf(name, 32, "core.%d", (int)core->pid);
}

static void remove_folder(struct core_file *core)
{
	char name[32];

	name_written(core, name);
	unlinkat(core->dir, name, 0);
	close(core->dir);
	rmdir(core->folder);
}

/* Never replace a file, even if the file system has no such rename. */
static int move_no_replace(int dir, const char *name, const char *to)
{
	if (!renameat2(dir, name, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return linkat(dir, name, AT_FDCWD, to, 0) ? -errno : 0;
}

/* Give the core its name. 0 or -errno. */
static int name_core(struct core_file *core)
{
	char name[32], path[sizeof(core->path)];
	struct stat st;
	int err;

	name_written(core, name);
	if (fstatat(core->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	err = move_no_replace(core->dir, name, core->path);
	for (int i = 1; err == -EEXIST && i < TRIES; i++) {
		snprintf(path, sizeof(path), "%.*s.%d", (int)sizeof(path) - 8, core->path, i);
		err = move_no_replace(core->dir, name, path);
		if (!err)
			memcpy(core->path, path, sizeof(path));
	}
	return err;
}

int core_begin(struct core_file *core, const char *prefix, pid_t pid)
{
	char gcore[PATH_MAX], number[16], at[64];
	char *argv[] = { "gcore", "-o", at, number, NULL }, **environment;
	int err = core_find(gcore);
	mode_t mask;

	core->pid = pid;
	snprintf(core->path, sizeof(core->path), "%s.%d", prefix, (int)pid);
	if (!err)
		err = make_folder(core);
	if (err)
		return err;
	snprintf(at, sizeof(at), "/proc/%d/fd/%d/core", (int)getpid(), core->dir);
	snprintf(number, sizeof(number), "%d", (int)pid);
	core->output = memfd_create("gcore", MFD_CLOEXEC);
	environment = clean_environment();
	mask = umask(077); /* a core contains the program's memory */
	err = core->output < 0 || !environment
		      ? -ENOMEM
		      : spawn_gcore(gcore, argv, environment, core->output, &core->writer);
	umask(mask);
	free(environment);
	if (err) {
		core->writer = 0;
		remove_folder(core);
		return log_err(err, "start gcore");
	}
	return 0;
}

/* Read the last line that gcore has written. */
static void read_last_line(int output, char *text, size_t size)
{
	off_t end = lseek(output, 0, SEEK_END);
	ssize_t n = pread(output, text, size - 1, end > (off_t)size ? end - (off_t)size + 1 : 0);
	char *line;

	text[n > 0 ? n : 0] = '\0';
	while (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = '\0';
	line = strrchr(text, '\n');
	if (line)
		memmove(text, line + 1, strlen(line));
}

bool core_has_ended(struct core_file *core, bool wait)
{
	pid_t writer = core->writer;

	if (waitpid(writer, &core->status, wait ? 0 : WNOHANG) != writer)
		return false;
	core->writer = 0;
	return true;
}

void core_report(struct core_file *core)
{
	char words[256];
	int err = core->status ? 0 : name_core(core);

	remove_folder(core);
	read_last_line(core->output, words, sizeof(words));
	close(core->output);
	if (err && err != -ENOENT)
		snprintf(words, sizeof(words), "%s", strerror(-err));
	if (!core->status && !err)
		log_note("%s: core file %s; pid %d continues", core->what, core->path,
			 (int)core->pid);
	else
		log_note("%s: no core file could be written (%s); pid %d continues", core->what,
			 words, (int)core->pid);
}

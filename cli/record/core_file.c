/*
 * A core of a process that is stopped
 *
 * gcore must not be recorded as if it were a child of the program: it starts without what the
 * program finds the recorder by, and with the signals that a program usually has.
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

int core_find(char found[PATH_MAX])
{
	int err = launch_find("gcore", found);

	if (err)
		log_err(err, "--core: find gcore, which comes with gdb");
	return err;
}

/* Ours without what makes a program recorded. To be freed, not its texts. */
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

int core_begin(struct core_file *core, const char *prefix, pid_t pid)
{
	char gcore[PATH_MAX], number[16], *at = core->path;
	char *argv[] = { "gcore", "-o", at, number, NULL }, **environment;
	int err = core_find(gcore);
	mode_t mask;

	if (err)
		return err;
	snprintf(core->path, sizeof(core->path), "%s", prefix);
	snprintf(number, sizeof(number), "%d", (int)pid);
	core->output = memfd_create("gcore", MFD_CLOEXEC);
	environment = clean_environment();
	mask = umask(077); /* it is the program's memory */
	err = core->output < 0 || !environment
		      ? -ENOMEM
		      : spawn_gcore(gcore, argv, environment, core->output, &core->writer);
	umask(mask);
	free(environment);
	if (err) {
		core->writer = 0;
		return log_err(err, "start gcore");
	}
	core->pid = pid;
	snprintf(core->path, sizeof(core->path), "%s.%d", prefix, (int)pid);
	return 0;
}

/* The last line that gcore has written. */
static void last_words(int output, char *text, size_t size)
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

bool core_ended(struct core_file *core, bool wait)
{
	pid_t writer = core->writer;

	if (waitpid(writer, &core->status, wait ? 0 : WNOHANG) != writer)
		return false;
	core->writer = 0;
	return true;
}

void core_tell(struct core_file *core)
{
	char words[256];

	last_words(core->output, words, sizeof(words));
	close(core->output);
	if (!core->status && !access(core->path, F_OK))
		log_note("%s: its core is %s, and pid %d has gone on", core->what, core->path,
			 (int)core->pid);
	else
		log_note("%s: no core could be written (%s), and pid %d has gone on", core->what,
			 words, (int)core->pid);
}

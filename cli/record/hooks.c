/*
 * Commands that are run when something fails
 *
 * 	standard input	a file in memory with the JSON: writing it cannot block
 * 	standard output	our standard error; the program's output is not mixed up with it
 * 	session		a new one, so that the command can be killed with its children
 */
#include "cli/record/hooks.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/text.h"
#include "core/wire/clock.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

#define MINUTE_NS 60000000000ull

enum { VALUE = 1024 };

struct hooks {
	/* the environment at the start, without the variables set for the program */
	char **environment;
	size_t nenvironment;
	struct {
		pid_t pid; /* 0: none */
		uint64_t since;
	} running[HOOKS_RUNNING];
	struct {
		uint64_t key, fired; /* 0: none */
	} kinds[HOOKS_KINDS];
	bool reported; /* it was reported that a command could not be started */
};

int hooks_new(struct hooks **ret_hooks)
{
	struct hooks *hooks = calloc(1, sizeof(*hooks));

	if (!hooks)
		return log_err(-ENOMEM, "--on-error");
	while (environ[hooks->nenvironment])
		hooks->nenvironment++;
	hooks->environment = calloc(hooks->nenvironment + 1, sizeof(char *));
	for (size_t i = 0; hooks->environment && i < hooks->nenvironment; i++)
		hooks->environment[i] = strdup(environ[i]);
	if (!hooks->environment) {
		free(hooks);
		return log_err(-ENOMEM, "--on-error");
	}
	*ret_hooks = hooks;
	return 0;
}

void hooks_free(struct hooks *hooks)
{
	if (!hooks)
		return;
	for (size_t i = 0; i < hooks->nenvironment; i++)
		free(hooks->environment[i]);
	free(hooks->environment);
	free(hooks);
}

/* Was @kind not reported within the last minute? Then note it, if needed in the oldest entry. */
static bool is_due(struct hooks *hooks, const char *kind)
{
	uint64_t key = hash_of(kind, strlen(kind), 0) | 1, now = clock_monotonic();
	size_t oldest = 0;

	for (size_t i = 0; i < HOOKS_KINDS; i++) {
		if (hooks->kinds[i].key == key) {
			if (now - hooks->kinds[i].fired < MINUTE_NS)
				return false;
			oldest = i;
			break;
		}
		if (hooks->kinds[i].fired < hooks->kinds[oldest].fired)
			oldest = i;
	}
	hooks->kinds[oldest].key = key;
	hooks->kinds[oldest].fired = now;
	return true;
}

/* The input and the environment of a command */

static int make_input(const struct hook_fact *facts)
{
	struct text text = { 0 };
	struct json json = { .out = &text };
	int fd = memfd_create("facts", MFD_CLOEXEC);

	json_open(&json, NULL, '{');
	for (const struct hook_fact *fact = facts; fact->name; fact++)
		if (fact->text)
			json_put_text(&json, fact->name, fact->text);
		else
			json_put_uint(&json, fact->name, fact->number);
	json_close(&json, '}');
	text_char(&text, '\n');
	if (fd >= 0 && (text.failed || write(fd, text.at, text.used) != (ssize_t)text.used ||
			lseek(fd, 0, SEEK_SET))) {
		close(fd);
		fd = -1;
	}
	text_fini(&text);
	return fd;
}

/* "VERBATIM_QP_NUM=17" */
static char *make_variable(const struct hook_fact *fact)
{
	struct text value = { 0 };
	char name[64], *variable = NULL;
	size_t n = 0;

	for (; fact->name[n] && n < sizeof(name) - 1; n++)
		name[n] = (char)toupper((unsigned char)fact->name[n]);
	name[n] = '\0';
	if (fact->text)
		text_printable(&value, fact->text);
	else
		text_addf(&value, "%" PRIu64, fact->number);
	if (!value.failed &&
	    asprintf(&variable, "VERBATIM_%s=%.*s", name, VALUE, value.at ? value.at : "") < 0)
		variable = NULL;
	text_fini(&value);
	return variable;
}

/* Start @command as sh runs it. 0 or -errno. */
static int spawn_command(const char *command, int input, char **environment, pid_t *ret_pid)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

static int start_command(struct hooks *hooks, const char *command, const struct hook_fact *facts,
			 pid_t *ret_pid)
{
	char **environment = calloc(hooks->nenvironment + HOOKS_FACTS + 1, sizeof(char *));
	size_t n = hooks->nenvironment;
	int input = make_input(facts), err = -ENOMEM;

	if (environment && input >= 0) {
		memcpy(environment, hooks->environment, n * sizeof(char *));
		for (int i = 0; i < HOOKS_FACTS && facts[i].name; i++) {
			environment[n] = make_variable(&facts[i]);
			n += environment[n] != NULL;
		}
		err = spawn_command(command, input, environment, ret_pid);
	}
	for (size_t i = hooks->nenvironment; environment && i < n; i++)
		free(environment[i]);
	free(environment);
	if (input >= 0)
		close(input);
	return err;
}

bool hooks_fire(struct hooks *hooks, const char *command, const char *kind,
		const struct hook_fact *facts)
{
	int err;

	if (!is_due(hooks, kind))
		return false;
	for (int i = 0; command && i < HOOKS_RUNNING; i++) {
		if (hooks->running[i].pid)
			continue;
		err = start_command(hooks, command, facts, &hooks->running[i].pid);
		hooks->running[i].since = clock_monotonic();
		if (err)
			hooks->running[i].pid = 0;
		if (err && !hooks->reported)
			log_err(err, "start '%s'", command);
		hooks->reported |= err;
		break;
	}
	return true;
}

void hooks_reap(struct hooks *hooks)
{
	uint64_t now = clock_monotonic();

	for (int i = 0; i < HOOKS_RUNNING; i++) {
		pid_t pid = hooks->running[i].pid;

		if (!pid)
			continue;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			hooks->running[i].pid = 0;
		else if (now - hooks->running[i].since > MINUTE_NS)
			kill(-pid, SIGKILL);
	}
}

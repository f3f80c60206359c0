/*
 * Running a command on each node of a job
 *
 *	srun --overlap --jobid=7 -w n3 ...  verbatim facts job7.n3.db  > DIR/n3.out 2> DIR/n3.err
 *	'-------------- via --------------' '-------- words --------'
 *
 * Each node is asked by a separate process, so that one that does not answer delays no other.
 */
#include "cli/job/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

enum { LOOK_NS = 5 * 1000 * 1000 };

struct node_query {
	pid_t pid; /* 0: not started yet, or ended */
	uint64_t until;
};

void ask_format_path(const struct ask *ask, const char *node, const char *kind, char path[4096])
{
	snprintf(path, 4096, "%s/%s.%s", ask->dir, node, kind);
}

/* @word with the names of node and job. */
static char *fill_word(const struct ask *ask, const char *word, size_t n, const char *node)
{
	struct text text = { 0 };

	for (const char *at = word; at < word + n; at++) {
		bool filled = *at == '%' && at + 1 < word + n;

		if (filled && at[1] == 'n')
			text_addf(&text, "%s", node);
		else if (filled && at[1] == 'j')
			text_addf(&text, "%s", ask->job ? ask->job : "");
		else
			filled = false;
		if (filled)
			at++;
		else
			text_char(&text, *at);
	}
	return text.failed ? NULL : text.at;
}

/* Quote a word for a shell on the node. */
static char *quote_word(const char *word)
{
	struct text text = { 0 };

	text_char(&text, '\'');
	for (; *word; word++)
		if (*word == '\'')
			text_addf(&text, "'\\''");
		else
			text_char(&text, *word);
	text_char(&text, '\'');
	return text.failed ? NULL : text.at;
}

static bool has_shell(const char *via)
{
	size_t n = strcspn(via, " ");
	const char *name = via + n;

	while (name > via && name[-1] != '/')
		name--;
	return via + n - name == 3 && !strncmp(name, "ssh", 3);
}

static bool add_word(char ***argv, size_t *n, char *word)
{
	char **place = vec_push(*argv, *n);

	if (place)
		*place = word;
	return place && word;
}

/* The words of the whole command; NULL if out of memory. Never freed: exec follows. */
static char **make_command(const struct ask *ask, const char *node)
{
	char **argv = NULL;
	size_t n = 0, length;
	bool made = true;

	for (const char *at = ask->via; *at && made; at += length + strspn(at + length, " ")) {
		length = strcspn(at, " ");
		made = add_word(&argv, &n, fill_word(ask, at, length, node));
	}
	if (made && !strstr(ask->via, "%n"))
		made = add_word(&argv, &n, fill_word(ask, "%n", 2, node));
	for (char **word = ask->words; *word && made; word++)
		made = add_word(&argv, &n, has_shell(ask->via) ? quote_word(*word) : *word);
	return made && vec_push(argv, n) ? argv : NULL;
}

static int open_file(const struct ask *ask, const char *node, const char *kind)
{
	char path[4096];

	ask_format_path(ask, node, kind, path);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static _Noreturn void become_command(const struct ask *ask, const char *node)
{
	char **argv = make_command(ask, node);
	int out = open_file(ask, node, "out"), err = open_file(ask, node, "err");
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	if (!argv || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0)
		_exit(1);
	execvp(argv[0], argv);
	log_err(-errno, "start '%s'", argv[0]);
	_exit(1);
}

static void note_failure(const struct ask *ask, const char *node, const char *why)
{
	char path[4096];
	FILE *file;

	ask_format_path(ask, node, "err", path);
	file = fopen(path, "ae");
	if (!file)
		return;
	fprintf(file, "verbatim: %s\n", why);
	fclose(file);
}

/* Returns whether it has ended. */
static bool check_query(const struct ask *ask, struct node_query *asked, const char *node,
			bool *answered)
{
	int status;
	bool late = clock_monotonic() > asked->until;

	if (late)
		kill(-asked->pid, SIGKILL);
	if (waitpid(asked->pid, &status, late ? 0 : WNOHANG) != asked->pid)
		return false;
	if (late)
		note_failure(ask, node, "no answer within --patience");
	*answered = !late && WIFEXITED(status) && !WEXITSTATUS(status);
	asked->pid = 0;
	return true;
}

static bool start_asking(const struct ask *ask, const char *node, struct node_query *asked)
{
	pid_t pid = fork();

	if (!pid)
		become_command(ask, node);
	if (pid > 0)
		setpgid(pid,
			/* the parent, too: check_query() may kill the group before that */
			pid);
	else
		note_failure(ask, node, "no process could be started to query the node");
	*asked = (struct node_query){ pid, clock_monotonic() + (uint64_t)ask->patience };
	return pid > 0;
}

int ask_nodes(const struct ask *ask, const struct nodes *nodes, bool *answered)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct node_query *all = calloc(nodes->n, sizeof(*all));
	size_t next = 0, first = 0, running = 0;

	if (!all)
		return log_err(-ENOMEM, "query %zu nodes", nodes->n);
	while (next < nodes->n || running) {
		while (next < nodes->n && running < ask->at_once) {
			running += start_asking(ask, nodes->names[next], &all[next]);
			next++;
		}
		for (size_t i = first; i < next; i++)
			if (all[i].pid > 0 &&
			    check_query(ask, &all[i], nodes->names[i], &answered[i]))
				running--;
		while (first < next && all[first].pid <= 0)
			first++;
		nanosleep(&pause, NULL);
	}
	free(all);
	return 0;
}

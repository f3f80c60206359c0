#pragma once
/*
 * Transcripts: commands about a recorded example and what they print
 *
 * 	$ dump --last 1 trace.db
 * 	1:23 ...
 * 	[1]		the exit status, if it is not 0
 *
 * Of an output that is not text the number of bytes and a digest are shown.
 *
 * No command may leave temporary files behind.
 *
 * A test, run_transcript(__FILE__), runs each in a child process, and compares with the file of its
 * own name that ends in .txt; with UPDATE=1 in the environment it writes that file instead, to be
 * read before it is committed. The commands run in a folder of their own, with the traces trace.db,
 * other.db, of the same story, and rich.db; they may write files there. Words are separated by
 * blanks; '~' is a blank within a word. Addresses of this program are shown as POINTER.
 *
 * With RUN_ANEW defined before, the program starts itself for each command, with its words as
 * arguments: main() (TEST_MAIN) is then the test's.
 */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/wire/log.h"
#include "tests/cli/rich.h"
#include "tests/core/store/example.h"
#include "tests/transcript.h"

enum { RUN_WORDS = 32 };

static char run_folder[sizeof(example.path) + 16];

/* Replaces, in place, what else differs in each run; NULL: nothing does. */
static void (*run_mask)(char *text);

static inline int run_split(char *text, char *words[RUN_WORDS])
{
	int n = 0;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		assert_true(n < RUN_WORDS - 1);
		for (char *c = word; *c; c++)
			if (*c == '~')
				*c = ' ';
		words[n++] = word;
	}
	words[n] = NULL;
	return n;
}

/* The arguments of this program for that command; its name is what scripts/reach knows. */
static inline char **run_anew(char *words[RUN_WORDS])
{
	static char *all[RUN_WORDS + 1];

	all[0] = program_invocation_short_name;
	memcpy(all + 1, words, RUN_WORDS * sizeof(*words));
	return all;
}

/* The folder for temporary files of commands. */
static inline const char *run_scratch(void)
{
	static char path[sizeof(run_folder) + 16];

	snprintf(path, sizeof(path), "%s/scratch", run_folder);
	return path;
}

static inline void run_child(const char *command, FILE *out)
{
	char text[512], *words[RUN_WORDS];
	int n, status;

	snprintf(text, sizeof(text), "%s", command);
	n = run_split(text, words);
	dup2(fileno(out), STDOUT_FILENO);
	dup2(fileno(out), STDERR_FILENO);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	setenv("HOME", "/nonexistent", 1);
	setenv("TZ", "UTC", 1);
	setenv("TMPDIR", run_scratch(), 1);
	assert_int_equal(chdir(run_folder), 0);
#ifdef RUN_ANEW
	execv("/proc/self/exe", run_anew(words));
#endif
	status = command_find(words[0])->run(n, words);
	fflush(stdout);
	_exit(status);
}

/* Leave out what a command says every ten seconds, on a busy machine. */
static inline void run_drop_progress(char *text)
{
	static const char *const notes[] = { ": running for ", " events so far, up to ",
					     " events are left\n" };
	char *to = text;

	for (char *line = text, *next; *line; line = next) {
		size_t n = strcspn(line, "\n");
		bool drop = false;

		next = line + n + (line[n] == '\n');
		for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
			const char *note = strstr(line, notes[i]);

			drop |= !strncmp(line, "verbatim: ", 10) && note && note < next;
		}
		if (!drop) {
			memmove(to, line, (size_t)(next - line));
			to += next - line;
		}
	}
	*to = '\0';
}

/* Append an output that is not text. */
static inline void run_add_binary(struct text *text, const char *bytes, size_t n)
{
	uint32_t hash = 0x811c9dc5;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x1000193;
	text_addf(text, "%zu bytes, digest %08x\n", n, hash);
}

/* Append what a command has printed. */
static inline void run_add_output(struct text *text, char *bytes, size_t n)
{
	if (memchr(bytes, '\0', n)) {
		run_add_binary(text, bytes, n);
		return;
	}
	run_drop_progress(bytes);
	if (run_mask)
		run_mask(bytes);
	transcript_clean(text, bytes);
	if (*bytes && bytes[strlen(bytes) - 1] != '\n')
		text_char(text, '\n');
}

/* Append the command's output and status. */
static inline void run_command(struct text *text, const char *command)
{
	FILE *out = tmpfile();
	char *bytes;
	int ended;
	long n;

	assert_non_null(out);
	assert_int_equal(mkdir(run_scratch(), 0700), 0);
	fflush(stdout);
	if (!fork())
		run_child(command, out);
	wait(&ended);
	if (rmdir(run_scratch()))
		fail_msg("temporary files are left by %s", command);
	fseek(out, 0, SEEK_END);
	n = ftell(out);
	rewind(out);
	bytes = calloc(1, (size_t)n + 1);
	assert_int_equal(fread(bytes, 1, (size_t)n, out), n);
	fclose(out);
	run_add_output(text, bytes, (size_t)n);
	free(bytes);
	if (!WIFEXITED(ended))
		text_addf(text, "[signal %d]\n", WTERMSIG(ended));
	else if (WEXITSTATUS(ended))
		text_addf(text, "[%d]\n", WEXITSTATUS(ended));
}

/* Run the commands of @wanted again, and append what they print now. */
static inline void run_again(struct text *text, char *wanted)
{
	char command[512];

	for (char *at = strstr(wanted, "$ "); at; at = strstr(at, "\n$ ")) {
		at += *at == '\n' ? 3 : 2;
		snprintf(command, sizeof(command), "%.*s", (int)strcspn(at, "\n"), at);
		text_addf(text, "$ %s\n", command);
		run_command(text, command);
	}
}

static inline void run_transcript(const char *source)
{
	char *wanted = transcript_read(source);
	struct text text = { 0 };

	run_again(&text, wanted);
	transcript_check(source, text.at, wanted);
	free(wanted);
	text_fini(&text);
}

static inline void run_name(const char *name)
{
	char path[sizeof(run_folder) + 16];

	snprintf(path, sizeof(path), "%s/%s", run_folder, name);
	assert_int_equal(rename(example.path, path), 0);
}

/* Record the story as trace @name. */
static inline void run_record(const char *name, bool v4)
{
	example_begin_connected(&example, IBV_QPT_RC, v4, false);
	example_story(&example);
	if (v4)
		writer_end_process(example.writer, 200, 900000, 9);
	else
		writer_end_process(example.writer, 100, 950000, 3 << 8);
	example_finish(&example);
	run_name(name);
}

/* A fixture: the story, in a trace, and in another one; run_end() removes all. */
static inline int run_begin(void **state)
{
	(void)state;
	snprintf(run_folder, sizeof(run_folder), "%s-XXXXXX", make_path("run"));
	if (!mkdtemp(run_folder))
		return -1;
	run_record("trace.db", true);
	run_record("other.db", false);
	rich_record(&example);
	run_name("rich.db");
	return 0;
}

static inline int run_remove(const char *path, const struct stat *stat, int flag, struct FTW *ftw)
{
	(void)stat;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline int run_end(void **state)
{
	(void)state;
	return nftw(run_folder, run_remove, 8, FTW_DEPTH | FTW_PHYS);
}

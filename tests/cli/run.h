#pragma once
/*
 * Transcripts: commands about a recorded example and what they print
 *
 * 	$ dump --last 1 trace.db
 * 	1:23 ...
 * 	[1]		the exit status, if it is not 0
 *
 * A test, run_transcript(__FILE__), runs each in a child process, and compares with the file of its
 * own name that ends in .txt; with UPDATE=1 in the environment it writes that file instead, to be
 * read before it is committed. The commands run in a folder of their own, with the trace trace.db;
 * they may write out.db. Words are separated by blanks; '~' is a blank within a word. Addresses of
 * this program, which differ in each run, are shown as POINTER.
 */
#include <ctype.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/base/text.h"
#include "core/wire/log.h"
#include "tests/cli/example.h"

enum { RUN_WORDS = 32 };

static char run_folder[sizeof(example.path) + 16];

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
	assert_int_equal(chdir(run_folder), 0);
	status = command_find(words[0])->run(n, words);
	fflush(stdout);
	_exit(status);
}

/* The length of a number at @at that is an address of this program; 0: it is none. */
static inline size_t run_address(const char *at)
{
	size_t hex = !strncmp(at, "0x", 2) ? 2 + strspn(at + 2, "0123456789abcdef") : 0;
	size_t n = strspn(at, "0123456789");

	if (hex >= 2 + 11)
		return hex;
	return n >= 14 && n <= 16 ? n : 0;
}

/* If @name is next, a word of its own: what is shown instead. Returns its length, or 0. */
static inline size_t run_replace(struct text *text, const char *at, const char *name,
				 const char *shown)
{
	size_t n = strlen(name);

	if (!n || strncmp(at, name, n) != 0 || isalnum((unsigned char)at[n]))
		return 0;
	text_addf(text, "%s", shown);
	return n;
}

/* The same for what differs between runs and machines. */
static inline size_t run_replace_any(struct text *text, const char *at)
{
	static struct utsname system;
	const char *names[][2] = { { system.nodename, "HOST" },
				   { system.release, "KERNEL" },
				   { system.machine, "MACHINE" } };
	size_t n = run_address(at);

	uname(&system);
	if (n)
		text_addf(text, "POINTER");
	if (!strncmp(at, "db, ", 4) && isdigit((unsigned char)at[4])) {
		text_addf(text, "db, SIZE"); /* of a trace */
		return strcspn(at, "\n");
	}
	for (size_t i = 0; !n && i < sizeof(names) / sizeof(*names); i++)
		n = run_replace(text, at, names[i][0], names[i][1]);
	return n;
}

/* Append what the command printed. */
static inline void run_clean(struct text *text, const char *from)
{
	bool in_word = false;

	for (size_t n; *from; from += n) {
		n = in_word ? 0 : run_replace_any(text, from);
		if (!n)
			text_char(text, from[n++]);
		in_word = isalnum((unsigned char)from[n - 1]);
	}
}

/* Append the command's output and status. */
static inline void run_command(struct text *text, const char *command)
{
	FILE *out = tmpfile();
	char *bytes;
	int ended;
	long n;

	assert_non_null(out);
	fflush(stdout);
	if (!fork())
		run_child(command, out);
	wait(&ended);
	fseek(out, 0, SEEK_END);
	n = ftell(out);
	rewind(out);
	bytes = calloc(1, (size_t)n + 1);
	assert_int_equal(fread(bytes, 1, (size_t)n, out), n);
	fclose(out);
	run_clean(text, bytes);
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
	char path[256], *wanted;
	struct text text = { 0 };
	FILE *file;
	long n;

	snprintf(path, sizeof(path), "%.*s.txt", (int)strlen(source) - 2, source);
	file = fopen(path, "r");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	wanted = calloc(1, (size_t)n + 1);
	assert_int_equal(fread(wanted, 1, (size_t)n, file), n);
	fclose(file);
	run_again(&text, wanted);
	if (getenv("UPDATE")) {
		file = fopen(path, "w");
		fwrite(text.at, 1, text.used, file);
		fclose(file);
	} else {
		example_compare(text.at, wanted);
	}
	free(wanted);
	text_fini(&text);
}

static inline void run_mark(struct example_end *end, unsigned int kind, const char *mark)
{
	size_t n = strlen(mark), bytes = make_round(sizeof(struct event_mark) + n);
	struct event_mark *e = make_room(&end->m, EVENT_MARK, 0, bytes);

	e->kind = (uint16_t)kind;
	e->bytes = (uint16_t)n;
	memcpy(e + 1, mark, n);
	make_done(&end->m, e, bytes);
}

static inline void run_release(struct example_end *end, uint64_t addr, uint64_t length)
{
	struct event_memory *e = make_room(&end->m, EVENT_MEMORY, 0, sizeof(*e));

	e->addr = addr;
	e->length = length;
	e->what = MEMORY_MUNMAP;
	make_done(&end->m, e, sizeof(*e));
}

static inline void run_misuse(struct example_end *end)
{
	struct event_misuse *e = make_room(&end->m, EVENT_MISUSE, 0, sizeof(*e));

	e->object = MAKE_PTR(&end->qp);
	e->what = MISUSE_OVERLAP;
	e->verb = VERB_post_send;
	e->other_verb = VERB_modify_qp;
	e->ring = 1;
	e->tid = 201;
	make_done(&end->m, e, sizeof(*e));
}

/*
 * Two connected processes, at 100 us and later: messages, a write, a read and atomics of the first,
 * a phase; a failed call; a write that the second refuses; flushes.
 */
static inline void run_story(struct example *x)
{
	struct example_end *one = &x->ends[0], *two = &x->ends[1];
	const struct event_rdma remote = { 0x20408, 0x22 }, wrong = { 0x30000, 0x23 };
	const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 100, 28 } },
		{ 2, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, .imm = 0x1234, .lengths = { 64 } },
		{ 3, IBV_WR_RDMA_WRITE, IBV_SEND_FENCE, .lengths = { 4096 }, .rdma = remote,
		  .parts = WR_RDMA },
		{ 4, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, .lengths = { 512 }, .rdma = remote,
		  .parts = WR_RDMA },
		{ 5, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_SEND_SIGNALED, .lengths = { 8 }, .rdma = remote,
		  .atomic = { 7, 8 }, .parts = WR_RDMA | WR_ATOMIC },
	};
	const struct example_wr bad = { 6,
					IBV_WR_RDMA_WRITE,
					IBV_SEND_SIGNALED,
					.lengths = { 16 },
					.rdma = wrong,
					.parts = WR_RDMA };

	example_at(100);
	example_receive(two, 10, 256);
	example_receive(two, 11, 256);
	example_receive(two, 12, 256);
	run_mark(one, 1, "load");
	example_at(200);
	example_post_list(one, VERB_post_send, &one->qp, wrs, 5, 0);
	make_notify(&two->m, &two->cq);
	example_at(250);
	make_poll(&two->m, &two->cq, 4,
		  (const struct event_wc[]){ example_wc(two, 10, 0, IBV_WC_RECV, 128),
					     example_wc(two, 11, 0, IBV_WC_RECV, 64) },
		  2);
	example_at(300);
	make_poll(&one->m, &one->cq, 9,
		  (const struct event_wc[]){ example_wc(one, 1, 0, IBV_WC_SEND, 0),
					     example_wc(one, 2, 0, IBV_WC_SEND, 0),
					     example_wc(one, 4, 0, IBV_WC_RDMA_READ, 512),
					     example_wc(one, 5, 0, IBV_WC_COMP_SWAP, 8) },
		  4);
	run_mark(one, 2, "load");
	run_mark(one, 0, "a point");
	example_at(400);
	make_verb(&two->m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&two->pd)), EBUSY, EBUSY);
	run_release(two, 0x20000, 4096);
	run_misuse(one);
	example_at(500);
	example_post(one, bad);
	example_at(600);
	example_poll(one, 6, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE, 0);
	example_at(700);
	example_poll(two, 12, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0);
	example_at(800);
	make_verb(&one->m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&one->qp)), 0, 0);
	make_call(&one->m, VERB_close_device, 0, 0, MAKE_ARGS(MAKE_PTR(&one->context)));
}

/* A fixture: the story, in a trace; run_end() removes it. */
static inline int run_begin(void **state)
{
	char trace[sizeof(run_folder) + 16];

	(void)state;
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	run_story(&example);
	writer_process_end(example.writer, 200, 900000, 9);
	example_finish(&example);
	snprintf(run_folder, sizeof(run_folder), "%s-XXXXXX", example.path);
	snprintf(trace, sizeof(trace), "%s/trace.db", mkdtemp(run_folder));
	return rename(example.path, trace);
}

static inline int run_end(void **state)
{
	static const char *const names[] = { "trace.db", "out.db" };
	char path[sizeof(run_folder) + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", run_folder, names[i]);
		unlink(path);
	}
	return rmdir(run_folder);
}

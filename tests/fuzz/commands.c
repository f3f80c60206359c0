/*
 * Altered inputs to all commands, and a table of the results
 *
 *	commands VERBATIM CORPUS [--seed S] [--mutants N | --seconds N] [--only KIND,...]
 *		[--jobs N] [--limit SECONDS] [--keep DIR] [--columns all]
 *
 * With --columns each alteration of columns.c is made once, in an order that the seed determines.
 * First each input is read unaltered: a refused one would test nothing.
 *
 * Mutant I of seed S is always the same for the same corpus. A failing input is stored, with a
 * command line that reproduces the failure. Each command gets a fresh copy. An interrupt ends it
 * with the table of the results so far.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tests/fuzz/forms.h"
#include "tests/fuzz/live.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/trial.h"

enum { WORDS = 16 };

struct cell {
	_Atomic uint32_t runs, fine, refused, wrong[VERDICTS];
	_Atomic long memory, ms;
};

/* Shared by all jobs. */
static struct board {
	_Atomic uint64_t next; /* mutant */
	_Atomic int over;      /* no more of them */
	struct cell cells[KINDS_MOST][FORMS_MOST];
} * board;

static struct {
	const char *verbatim, *corpus, *only, *keep;
	uint64_t seed, mutants;
	double limit, until;
	uint64_t turns; /* at least one of each kind, regardless of the time */
	int jobs;
	bool columns;
} options = { .seed = 1, .mutants = UINT64_MAX, .limit = 20, .jobs = 1, .keep = "." };

static double read_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Done by the shell; an interrupt of it interrupts us, too. */
__attribute__((format(printf, 1, 2))) static void run_shell(const char *format, ...)
{
	char line[4096];
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	status = system(line);
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
}

/* The last alteration of a column; or "". */
static char altered[COLUMNS_WHAT];

static uint32_t count_inputs(const struct kind *kind)
{
	char from[1024];
	uint32_t n = 0;

	for (;; n++) {
		snprintf(from, sizeof(from), "%s/%s/%u", options.corpus, kind->corpus, n);
		if (access(from, F_OK))
			return n;
	}
}

static void copy_input(const struct kind *kind, uint32_t i, const char *dir)
{
	run_shell("rm -rf '%s'/*; mkdir '%s/run'; echo precious >'%s/run/" MUTATE_VICTIM "'", dir,
		  dir, dir);
	if (kind->mutate)
		run_shell("cp -a '%s/%s/%u/.' '%s/run'", options.corpus, kind->corpus, i, dir);
}

/* The first input from @first on that has rows for alteration @which; any if none has. */
static uint32_t find_rows(const struct kind *kind, uint32_t first, uint32_t n, uint64_t which)
{
	char from[1024];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(from, sizeof(from), "%s/%s/%u", options.corpus, kind->corpus,
			 (first + i) % n);
		if (columns_has_rows(from, which))
			return (first + i) % n;
	}
	return first;
}

/* The number of alterations, for the first input. */
static uint64_t count_columns(void)
{
	char from[1024];

	snprintf(from, sizeof(from), "%s/plain/0", options.corpus);
	return columns_count(from);
}

/* Alteration @which; the next one is of another column. */
static void alter_columns(const struct kind *kind, uint64_t index, const char *dir,
			  struct dice *dice)
{
	uint32_t n = count_inputs(kind);
	uint64_t which = (index + options.seed) * 1000003 % count_columns();

	copy_input(kind, find_rows(kind, dice_roll(dice, n), n, which), dir);
	columns_alter(mutate_path(dir, "run"), which, dice, altered);
}

/* One of the directories of the corpus, altered, in DIR/run. False: the corpus has none. */
static bool take_input(const struct kind *kind, uint64_t index, const char *dir, struct dice *dice)
{
	uint32_t n = kind->mutate ? count_inputs(kind) : 1;

	if (n && options.columns) {
		alter_columns(kind, index, dir, dice);
	} else if (n) {
		copy_input(kind, dice_roll(dice, n), dir);
		if (kind->mutate)
			kind->mutate(mutate_path(dir, "run"), dice);
	}
	return n;
}

/* The words of a form; static. */
static void read_form(const char *line, const char *dir, char **argv, char **env)
{
	static char words[2048], text[1024], guest[1024];
	int n = 0, nenv = 0;
	FILE *file;

	snprintf(words, sizeof(words), "%s", line);
	snprintf(guest, sizeof(guest), "%s/guest", options.corpus);
	argv[n++] = (char *)options.verbatim;
	for (char *word = strtok(words, " "); word && n < WORDS - 1; word = strtok(NULL, " ")) {
		char *equal = n == 1 ? strchr(word, '=') : NULL;

		if (equal) {
			*equal = '\0';
			env[nenv++] = word;
			env[nenv++] = equal + 1;
		} else if (!strcmp(word, "@text")) {
			file = fopen(mutate_path(dir, "text"), "r");
			memset(text, 0, sizeof(text));
			if (file && fread(text, 1, sizeof(text) - 1, file))
				argv[n++] = text;
			if (file)
				fclose(file);
		} else {
			argv[n++] = strcmp(word, "@guest") ? word : guest;
		}
	}
	argv[n] = NULL;
	env[nenv] = NULL;
}

static bool victim_is_whole(const char *dir)
{
	FILE *file = fopen(mutate_path(dir, MUTATE_VICTIM), "r");
	char text[16] = "";
	bool whole = file && fgets(text, sizeof(text), file) && !strcmp(text, "precious\n");

	if (file)
		fclose(file);
	return whole;
}

static void raise_to(_Atomic long *most, long value)
{
	long old = atomic_load(most);

	while (value > old && !atomic_compare_exchange_weak(most, &old, value))
		;
}

static void count_trial(struct cell *cell, const struct trial *t)
{
	atomic_fetch_add(&cell->runs, 1);
	raise_to(&cell->memory, t->memory);
	raise_to(&cell->ms, (long)(t->seconds * 1000));
	if (t->verdict)
		atomic_fetch_add(&cell->wrong[t->verdict], 1);
	else
		atomic_fetch_add(t->status < 2 ? &cell->fine : &cell->refused, 1);
}

static void keep_input(const struct kind *kind, uint64_t index, const char *dir,
		       const struct trial *t, const char *line)
{
	char name[1024];

	snprintf(name, sizeof(name), "%s/%s-%llu-%llu", options.keep, kind->name,
		 (unsigned long long)options.seed, (unsigned long long)index);
	if (access(name, F_OK))
		run_shell("mkdir -p '%s'; cp -a '%s/mutant' '%s'", options.keep, dir, name);
	printf("# %s: exit status %d, %.1f s, %ld MB: cp -r %s /tmp/m && cd /tmp/m && %s %s\n",
	       verdict_names[t->verdict], t->status, t->seconds, t->memory / 1024, name,
	       options.verbatim, line);
	if (*altered)
		printf("#    %s\n", altered);
	for (char *said = t->verdict == VERDICT_RAW ? NULL : strtok((char *)t->said, "\n"); said;
	     said = strtok(NULL, "\n"))
		if (strstr(said, "ERROR") || strstr(said, "runtime error") ||
		    strstr(said, "verbatim: ") || strstr(said, "SUMMARY"))
			printf("#    %.300s\n", said);
	fflush(stdout);
}

static void run_line(const struct kind *kind, uint64_t index, const char *dir,
		     const struct form *form, const char *line, const char *statuses)
{
	struct cell *cell = &board->cells[kind - kinds][form - forms];
	char *argv[WORDS], *env[WORDS], run[1024];
	struct live live = { .seed = options.seed ^ index };
	struct trial t = {
		.dir = run, .argv = argv, .env = env, .statuses = statuses, .limit = options.limit
	};

	snprintf(run, sizeof(run), "%s/run", dir);
	read_form(line, run, argv, env);
	if (!kind->mutate && line == form->line) {
		live_open(&live);
		t.meanwhile = live_spoil;
		t.arg = &live;
	}
	trial_run(&t);
	live_close(&live);
	if (!t.verdict && !victim_is_whole(run))
		t.verdict = VERDICT_TOUCH;
	count_trial(cell, &t);
	if (t.verdict)
		keep_input(kind, index, dir, &t, line);
	else if (form->then && line == form->line && !t.status)
		run_line(kind, index, dir, form, form->then, form->allows);
}

/* All commands for this input, each in one of its forms. */
static void run_all(const struct kind *kind, uint64_t index, const char *dir, struct dice *dice)
{
	for (int i = 0, n; forms[i].line; i += n) {
		const struct form *form;

		for (n = 1; forms[i + n].line && form_is_like(&forms[i], &forms[i + n]); n++)
			;
		if (strcmp(forms[i].reads, kind->reads))
			continue;
		form = &forms[i + (int)dice_roll(dice, (uint32_t)n)];
		run_shell("rm -rf '%s/run'; cp -a '%s/mutant' '%s/run'", dir, dir, dir);
		run_line(kind, index, dir, form, form->line, form->statuses);
	}
}

static bool is_chosen(const char *name)
{
	size_t n = strlen(name);

	for (const char *at = options.only; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, name, n) && (!at[n] || at[n] == ','))
			return true;
	return !options.only;
}

/* The kind of mutant @index: they take turns. */
static const struct kind *kind_of(uint64_t index)
{
	const struct kind *chosen[KINDS_MOST];

	options.turns = 0;
	for (int k = 0; kinds[k].name; k++)
		if (is_chosen(kinds[k].name))
			chosen[options.turns++] = &kinds[k];
	return options.turns ? chosen[index % options.turns] : NULL;
}

/* A directory to work in, and the environment of all runs. */
static void make_work(char *dir)
{
	if (!mkdtemp(dir))
		exit(1);
	setenv("VERBATIM_SESSIONS", dir, 1);
	setenv("VERBATIM_SOFT_FABRIC", dir, 1);
	setenv("ASAN_OPTIONS", "quarantine_size_mb=16:hard_rss_limit_mb=3000", 0);
}

/* Is input @i accepted as it is? */
static bool is_whole(const struct kind *kind, uint32_t i, const struct form *form, const char *dir)
{
	char *argv[WORDS], *env[WORDS], run[1024];
	struct trial t = { .dir = run,
			   .argv = argv,
			   .env = env,
			   .statuses = form->whole,
			   .limit = options.limit };

	copy_input(kind, i, dir);
	snprintf(run, sizeof(run), "%s/run", dir);
	read_form(form->line, run, argv, env);
	trial_run(&t);
	if (t.verdict)
		printf("not ok fuzz: commands: %s %u is refused unaltered: %s: %s, exit status %d: "
		       "%.300s\n",
		       kind->corpus, i, form->line, verdict_names[t.verdict], t.status, t.said);
	return !t.verdict;
}

/* All inputs that will be altered, each once. */
static bool are_whole(void)
{
	char dir[] = "/tmp/verbatim-fuzz-XXXXXX";
	bool all = true;

	make_work(dir);
	for (const struct kind *kind = kinds; kind->name; kind++)
		for (const struct form *form = forms; form->line; form++) {
			bool again = kind > kinds && !strcmp(kind[-1].corpus, kind->corpus) &&
				     is_chosen(kind[-1].name);
			uint32_t n = is_chosen(kind->name) && kind->mutate && form->whole &&
						     !again && !strcmp(form->reads, kind->reads)
					     ? count_inputs(kind)
					     : 0;

			for (uint32_t i = 0; i < n; i++)
				all &= is_whole(kind, i, form, dir);
		}
	run_shell("rm -rf '%s'", dir);
	return all;
}

static void work_off(void)
{
	char dir[] = "/tmp/verbatim-fuzz-XXXXXX";
	uint64_t index;

	make_work(dir);
	kind_of(0);
	while (!board->over && (index = atomic_fetch_add(&board->next, 1)) < options.mutants &&
	       (!options.until || read_clock() < options.until || index < options.turns)) {
		struct dice dice = dice_of_seed(options.seed, index);
		const struct kind *kind = kind_of(index);

		if (!kind || !take_input(kind, index, dir, &dice))
			continue;
		run_shell("mv '%s/run' '%s/mutant'", dir, dir);
		run_all(kind, index, dir, &dice);
	}
	run_shell("rm -rf '%s'", dir);
	exit(0);
}

/* The table has the results until then. */
static void note_stop(int signal)
{
	(void)signal;
	board->over = 1;
}

static uint32_t count_wrong(const struct cell *cell)
{
	uint32_t wrong = 0;

	for (int v = 1; v < VERDICTS; v++)
		wrong += cell->wrong[v];
	return wrong;
}

static void print_cell(const char *kind, const char *command, const struct cell *c)
{
	printf("%-8s %-9s %7u %7u %7u", kind, command, c->runs, c->fine, c->refused);
	for (int v = 1; v < VERDICTS; v++)
		printf(" %6u", c->wrong[v]);
	printf(" %6ld %6.1f\n", c->memory / 1024, (double)c->ms / 1000);
}

static void add_cells(struct cell *to, const struct cell *from)
{
	to->runs += from->runs;
	to->fine += from->fine;
	to->refused += from->refused;
	for (int v = 1; v < VERDICTS; v++)
		to->wrong[v] += from->wrong[v];
	raise_to(&to->memory, from->memory);
	raise_to(&to->ms, from->ms);
}

/* A line for each kind and command. Returns the number of failed runs. */
static uint32_t print_table(void)
{
	struct cell all = { 0 };

	printf("%-8s %-9s %7s %7s %7s", "input", "command", "runs", "0, 1", "refused");
	for (int v = 1; v < VERDICTS; v++)
		printf(" %6s", verdict_names[v]);
	printf(" %6s %6s\n", "max MB", "max s");
	for (int k = 0; kinds[k].name; k++)
		for (int f = 0; forms[f].line; f++) {
			struct cell sum = { 0 };
			char name[FORM_COMMAND];

			form_command(&forms[f], name);
			add_cells(&sum, &board->cells[k][f]);
			while (forms[f + 1].line && form_is_like(&forms[f], &forms[f + 1]))
				add_cells(&sum, &board->cells[k][++f]);
			if (sum.runs)
				print_cell(kinds[k].name, name, &sum);
			add_cells(&all, &sum);
		}
	print_cell("all", "", &all);
	return count_wrong(&all);
}

/* As a test: a line for each kind. */
static void print_lines(void)
{
	for (int k = 0; kinds[k].name; k++) {
		struct cell sum = { 0 };

		for (int f = 0; forms[f].line; f++)
			add_cells(&sum, &board->cells[k][f]);
		if (!is_chosen(kinds[k].name))
			continue;
		printf("%s fuzz: commands on %s (%u runs, seed %llu)%s\n",
		       !sum.runs           ? "skip"
		       : count_wrong(&sum) ? "not ok"
					   : "ok",
		       kinds[k].name, sum.runs, (unsigned long long)options.seed,
		       sum.runs ? "" : ": nothing of it in the corpus");
	}
}

/* Each command that reads a trace has a form. */
static bool are_all_there(void)
{
	bool all = true;

	for (const struct command *c = commands; c->name; c++) {
		bool found = !strstr(c->arguments, "TRACE");
		char name[FORM_COMMAND];

		for (int f = 0; forms[f].line && !found; f++) {
			form_command(&forms[f], name);
			found = !strcmp(name, c->name);
		}
		if (!found)
			printf("not ok fuzz: commands: %s reads a trace and has no form here\n",
			       c->name);
		all = all && found;
	}
	return all;
}

static void read_option(const char *name, char *value)
{
	if (!strcmp(name, "--seed"))
		options.seed = strtoull(value, NULL, 0);
	else if (!strcmp(name, "--mutants"))
		options.mutants = strtoull(value, NULL, 0);
	else if (!strcmp(name, "--seconds"))
		options.until = read_clock() + atof(value);
	else if (!strcmp(name, "--only"))
		options.only = value;
	else if (!strcmp(name, "--jobs"))
		options.jobs = atoi(value);
	else if (!strcmp(name, "--limit"))
		options.limit = atof(value);
	else if (!strcmp(name, "--keep"))
		options.keep = value;
	else if (!strcmp(name, "--columns"))
		options.columns = true;
	else
		exit(fprintf(stderr, "commands: there is no option '%s'\n", name) > 0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return fprintf(stderr, "usage: commands VERBATIM CORPUS [OPTION VALUE]...\n") > 0;
	options.verbatim = realpath(argv[1], NULL);
	options.corpus = realpath(argv[2], NULL);
	for (int i = 3; i + 1 < argc; i += 2)
		read_option(argv[i], argv[i + 1]);
	if (!options.verbatim || !options.corpus)
		return fprintf(stderr, "commands: no %s, or no %s\n", argv[1], argv[2]) > 0;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (options.columns) {
		options.only = "columns";
		if (options.mutants > count_columns())
			options.mutants = count_columns();
	}
	if (!are_all_there() || !are_whole())
		return 1;
	for (int i = 0; i < options.jobs; i++)
		if (!fork())
			work_off();
	signal(SIGTERM, note_stop);
	signal(SIGINT, note_stop);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	print_lines();
	return print_table() > 0;
}

/*
 * Altered inputs to all commands, and a table of how they ended
 *
 *	commands VERBATIM CORPUS [--seed S] [--mutants N | --seconds N] [--only KIND,...]
 *		[--jobs N] [--limit SECONDS] [--keep DIR]
 *
 * Mutant I of seed S is always the same of the same corpus. What fails is kept,
 * with a line that shows it again. Each command gets a fresh copy. An interrupt
 * ends it with the table of what was done.
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
#include "tests/fuzz/live.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/trial.h"

/* What lies in CORPUS under that name, a directory for each. */
struct kind {
	const char *name, *corpus;
	mutate_fn *mutate;
};

/* clang-format off */
static const struct kind kinds[] = {
	{ "rows", "trace", mutate_rows },	{ "schema", "trace", mutate_schema },
	{ "chunk", "trace", mutate_chunk },	{ "bytes", "trace", mutate_bytes },
	{ "journal", "trace", mutate_journal }, { "page", "session", mutate_page },
	{ "ring", "session", mutate_ring },	{ "session", "session", mutate_session },
	{ "ctf", "ctf", mutate_ctf },		{ "faults", "faults", mutate_text },
	{ "persona", "persona", mutate_text },	{ "filter", "filter", mutate_text },
	{ "elf", "elf", mutate_file },		{ "live", "live", NULL },
};
/* clang-format on */

/*
 * A line is a command as it is typed; @text is the text itself. Names before the
 * command are of its environment. What came of it is read by @then, which may
 * end as @allows.
 */
struct form {
	const char *corpus, *line, *statuses, *then, *allows;
};

/* clang-format off */
static const struct form forms[] = {
	{ "trace", "info t.db", "013", NULL, NULL },
	{ "trace", "info --format json t.db", "013", NULL, NULL },
	{ "trace", "dump t.db", "013", NULL, NULL },
	{ "trace", "dump --payload full t.db", "013", NULL, NULL },
	{ "trace", "dump --failed t.db", "013", NULL, NULL },
	{ "trace", "dump --format json t.db", "013", NULL, NULL },
	{ "trace", "dump t.db u.db", "013", NULL, NULL },
	{ "trace", "stat t.db", "013", NULL, NULL },
	{ "trace", "stat --format json t.db", "013", NULL, NULL },
	{ "trace", "diff --format junit t.db u.db -- t.db t.db", "013", NULL, NULL },
	{ "trace", "sql t.db SELECT*FROM\tobject,call", "0123", NULL, NULL },
	{ "trace", "sql --json t.db SELECT*FROM\twr", "0123", NULL, NULL },
	{ "trace", "sql --csv t.db SELECT*FROM\twc", "0123", NULL, NULL },
	{ "trace", "sql t.db SELECT*FROM\tpayload", "0123", NULL, NULL },
	{ "trace", "sql t.db SELECT*FROM\tmeta,process,thread,module", "0123", NULL, NULL },
	{ "trace", "sql t.db SELECT*,stack(stack)FROM\trequests,qps", "0123", NULL, NULL },
	{ "trace", "sql t.db SELECT*,name(object)FROM\tqueue_depth", "0123", NULL, NULL },
	{ "trace", "sql t.db SELECT*,symbol(length)FROM\tmrs,failures", "0123", NULL, NULL },
	{ "trace", "query t.db state of qp1 in process 1", "0123", NULL, NULL },
	{ "trace", "query t.db state of mr1 at 1ms", "0123", NULL, NULL },
	{ "trace", "query t.db outstanding on cq1 in process 1", "0123", NULL, NULL },
	{ "trace", "query t.db registered", "013", NULL, NULL },
	{ "trace", "query --format json t.db covers key 0x1000", "013", NULL, NULL },
	{ "trace", "query t.db peer of qp1 in process 1", "0123", NULL, NULL },
	{ "trace", "query t.db path of wr_id 1", "0123", NULL, NULL },
	{ "trace", "query --format json t.db path of 1:40", "0123", NULL, NULL },
	{ "trace", "diff t.db u.db", "013", NULL, NULL },
	{ "trace", "diff --format json u.db t.db", "013", NULL, NULL },
	{ "trace", "unpack -o o.db t.db", "03", "info o.db", "013" },
	{ "trace", "unpack -o o.db t.db", "03", "check o.db", "013" },
	{ "trace", "check t.db", "013", NULL, NULL },
	{ "trace", "check --format json t.db", "013", NULL, NULL },
	{ "trace", "check t.db u.db", "013", NULL, NULL },
	{ "trace", "check --format json u.db t.db", "013", NULL, NULL },
	{ "trace", "check --format sarif t.db", "013", NULL, NULL },
	{ "trace", "check --format junit --save t.db", "0134", NULL, NULL },
	{ "trace", "replay --timeout 0.2 t.db", "013", NULL, NULL },
	{ "trace", "replay --timeout 0.2 --format json t.db", "013", NULL, NULL },
	{ "trace", "trim -o o.db --until 1:20 t.db", "023", "check o.db", "013" },
	{ "trace", "trim -o o.db --from 1:20 t.db", "023", "info o.db", "013" },
	{ "trace", "trim -o o.db --only process=1 t.db", "023", "dump o.db", "013" },
	{ "trace", "merge -o o.db t.db u.db", "03", "check o.db", "013" },
	{ "trace", "merge -o o.db u.db t.db", "03", "stat o.db", "013" },
	{ "trace", "reduce -j 1 --deadline 1s -k status\tof\t1:40\t=\tREM_ACCESS_ERR -o o.db t.db",
	  "0123", NULL, NULL },
	{ "trace", "stat --format openmetrics t.db", "013", NULL, NULL },
	{ "trace", "sql --format jsonl t.db SELECT*FROM\tqps", "0123", NULL, NULL },
	{ "trace", "export t.db", "03", NULL, NULL },
	{ "trace", "export --at 1:40 t.db", "023", NULL, NULL },
	{ "trace", "export --format folded --value time t.db", "03", NULL, NULL },
	{ "trace", "export --format pcapng -o o.pcapng t.db", "03", NULL, NULL },
	{ "trace", "export --format perfetto -o o.trace t.db", "03", NULL, NULL },
	{ "trace", "report t.db", "03", NULL, NULL },
	{ "trace", "report --compare u.db t.db", "03", NULL, NULL },
	{ "trace", "bundle -o o.bundle t.db", "03", "unbundle -l o.bundle", "0" },
	{ "trace", "bundle --list --anonymise t.db", "03", NULL, NULL },
	{ "trace", "emit t.db", "03", NULL, NULL },
	{ "trace", "emit --allow-partial t.db u.db", "03", NULL, NULL },
	{ "session", "collect -q --keep -o o.db .", "034", "info o.db", "01" },
	{ "session", "collect -q --keep -o o.db .", "034", "check o.db", "01" },
	{ "ctf", "import -q -o o.db .", "03", "info o.db", "013" },
	{ "faults", "VERBATIM_SOFT_FAULTS=text run --device soft @guest calls 3",
	  "0123456789", NULL, NULL },
	{ "persona", "VERBATIM_SOFT_PERSONA=text run --device soft @guest calls 3",
	  "0123456789", NULL, NULL },
	{ "filter", "record -q -o o.db --filter @text @guest calls 3", "02", "info o.db", "01" },
	{ "elf", "doctor ./text", "0134", NULL, NULL },
	{ "live", "record -q --strict --memory --on-full drop -o o.db @guest calls 500",
	  "0123456789", "info o.db", "01" },
	{ "live", "record -q --on-full drop -o o.db @guest calls 500", "0123456789", "info o.db",
	  "01" },
};
/* clang-format on */

enum { KINDS = sizeof(kinds) / sizeof(*kinds), FORMS = sizeof(forms) / sizeof(*forms), WORDS = 16 };

struct cell {
	_Atomic uint32_t runs, fine, refused, wrong[VERDICTS];
	_Atomic long memory, ms;
};

/* Shared by all jobs. */
static struct board {
	_Atomic uint64_t next; /* mutant */
	_Atomic int over;      /* no more of them */
	struct cell cells[KINDS][FORMS];
} * board;

static struct {
	const char *verbatim, *corpus, *only, *keep;
	uint64_t seed, mutants;
	double limit, until;
	uint64_t turns; /* each kind has one, whatever the time is */
	int jobs;
} options = { .seed = 1, .mutants = UINT64_MAX, .limit = 20, .jobs = 1, .keep = "." };

static double read_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* What the shell does for us; an interrupt of it is ours, too. */
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

/* One of the directories of the corpus, copied to DIR/run. False: it has none. */
static bool take_input(const struct kind *kind, const char *dir, struct dice *dice)
{
	char from[1024];
	uint32_t n = 0;

	run_shell("rm -rf '%s'/*; mkdir '%s/run'; echo precious >'%s/run/" MUTATE_VICTIM "'", dir,
		  dir, dir);
	if (!kind->mutate)
		return true;
	for (;; n++) {
		snprintf(from, sizeof(from), "%s/%s/%u", options.corpus, kind->corpus, n);
		if (access(from, F_OK))
			break;
	}
	if (n)
		run_shell("cp -a '%s/%s/%u/.' '%s/run'", options.corpus, kind->corpus,
			  dice_roll(dice, n), dir);
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
	for (int i = 0, n; i < FORMS; i += n) {
		size_t length = strcspn(forms[i].line, " ");
		const struct form *form;

		for (n = 1; i + n < FORMS && !strcmp(forms[i + n].corpus, forms[i].corpus) &&
			    !strncmp(forms[i + n].line, forms[i].line, length + 1);
		     n++)
			;
		if (strcmp(forms[i].corpus, kind->corpus))
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
	const struct kind *chosen[KINDS];

	options.turns = 0;
	for (int k = 0; k < KINDS; k++)
		if (is_chosen(kinds[k].name))
			chosen[options.turns++] = &kinds[k];
	return options.turns ? chosen[index % options.turns] : NULL;
}

static void work_off(void)
{
	char dir[] = "/tmp/verbatim-fuzz-XXXXXX";
	uint64_t index;

	if (!mkdtemp(dir))
		exit(1);
	setenv("VERBATIM_SESSIONS", dir, 1);
	setenv("VERBATIM_SOFT_FABRIC", dir, 1);
	setenv("ASAN_OPTIONS", "quarantine_size_mb=16:hard_rss_limit_mb=3000", 0);
	kind_of(0);
	while (!board->over && (index = atomic_fetch_add(&board->next, 1)) < options.mutants &&
	       (!options.until || read_clock() < options.until || index < options.turns)) {
		struct dice dice = dice_of_seed(options.seed, index);
		const struct kind *kind = kind_of(index);

		if (!kind || !take_input(kind, dir, &dice))
			continue;
		if (kind->mutate)
			kind->mutate(mutate_path(dir, "run"), &dice);
		run_shell("mv '%s/run' '%s/mutant'", dir, dir);
		run_all(kind, index, dir, &dice);
	}
	run_shell("rm -rf '%s'", dir);
	exit(0);
}

/* The table is of what was done until then. */
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
	printf("%-8s %-8s %7u %7u %7u", kind, command, c->runs, c->fine, c->refused);
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

/* The word of a form that is the command. */
static void name_command(const struct form *form, char name[16])
{
	const char *at = form->line + (strchr(form->line, '=') && strchr(form->line, '=') <
									  strchr(form->line, ' ')
					       ? strcspn(form->line, " ") + 1
					       : 0);

	snprintf(name, 16, "%.*s", (int)strcspn(at, " "), at);
}

/* A line for each kind and command. Returns how many runs went wrong. */
static uint32_t print_table(void)
{
	struct cell all = { 0 };

	printf("%-8s %-8s %7s %7s %7s", "input", "command", "runs", "0, 1", "refused");
	for (int v = 1; v < VERDICTS; v++)
		printf(" %6s", verdict_names[v]);
	printf(" %6s %6s\n", "max MB", "max s");
	for (int k = 0; k < KINDS; k++)
		for (int f = 0; f < FORMS; f++) {
			struct cell sum = { 0 };
			char name[16], next[16];

			name_command(&forms[f], name);
			for (;; f++) {
				add_cells(&sum, &board->cells[k][f]);
				name_command(&forms[f + 1 < FORMS ? f + 1 : f], next);
				if (f + 1 == FORMS || strcmp(name, next))
					break;
			}
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
	for (int k = 0; k < KINDS; k++) {
		struct cell sum = { 0 };

		for (int f = 0; f < FORMS; f++)
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
		char name[16];

		for (int f = 0; f < FORMS && !found; f++) {
			name_command(&forms[f], name);
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
	if (!are_all_there())
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

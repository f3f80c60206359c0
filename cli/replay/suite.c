/*
 * Replays all traces of a folder
 *
 * 	traces of DIR (suite_find.c)  x  devices  ->  replays (suite_run.c)  ->  a table
 *
 * As many run at a time as there are processors. On the software device each replay has its own
 * fabric; on another device, a replay runs alone if it uses addresses, ports or packets that
 * another one could use.
 *
 * A signal or the deadline ends the running replays, and no others are started: the results so far
 * are printed (suite_end.c).
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/report/junit.h"
#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/table.h"
#include "cli/replay/replay_priv.h"
#include "cli/replay/suite_end.h"
#include "cli/replay/suite_find.h"
#include "cli/replay/suite_run.h"
#include "core/base/text.h"
#include "core/store/open.h"
#include "core/store/read/listing.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* Groups of names in the description; the common prefix of a group is removed. */
static const struct group {
	const char *prefix, *before;
	enum listing_kind list;
} groups[] = {
	{ "IBV_QPT_", "", LISTING_QP_TYPES },    { "", "", LISTING_FEATURES },
	{ "IBV_WR_", "", LISTING_OPCODES },      { "IBV_WC_", "", LISTING_STATUSES },
	{ "ibv_", "refused ", LISTING_REFUSED },
};

/* A replay with calls of these verbs needs the network to itself. */
static const char *const alone[] = { "rdma_*", "ibv_attach_mcast", "ibv_create_flow" };

static int add_group(struct trace *trace, const struct group *group, struct text *covers)
{
	const char *before = covers->used ? "; " : "";
	struct listing *listing;
	int err = listing_open(trace, group->list, &listing);
	size_t n = strlen(group->prefix);

	while (!err && (err = listing_next(listing)) > 0) {
		const char *word = listing_text(listing, 0);

		err = 0;
		if (!word)
			continue;
		text_addf(covers, "%s%s%s", before, *before == ',' ? "" : group->before,
			  strncmp(word, group->prefix, n) ? word : word + n);
		before = ", ";
	}
	listing_close(listing);
	return err;
}

/*
 * Add "RC, SRQ; SEND, RDMA_WRITE; REM_ACCESS_ERR; refused modify_qp" to @covers. *@ret_alone: it
 * must be replayed alone, since it uses names that others on the same device could use, too.
 * Returns 0 or -errno.
 */
static int describe_coverage(struct trace *trace, struct text *covers, bool *ret_alone)
{
	int err = 0;

	*ret_alone = false;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups) && !err; i++)
		err = add_group(trace, &groups[i], covers);
	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone) && !err && !*ret_alone; i++)
		*ret_alone = lookup_has_call(trace, alone[i]);
	return err ?: covers->failed ? -ENOMEM : 0;
}

enum { DEVICES_MAX = 16 };

struct suite {
	const struct replay_settings *set;
	char *const *again;
	struct suite_traces traces;
	struct text *covers; /* what each trace covers */
	bool *alone;
	char *names; /* of devices */
	const char *devices[DEVICES_MAX];
	bool soft[DEVICES_MAX];
	size_t ndevices;
	struct suite_run *runs;              /* the replays of each trace on each device */
	size_t nruns, next, nrunning, ndone; /* ndone: replays that have ended */
	bool one_alone;                      /* the running replay must run alone */
	struct suite_end end;
	int err;
};

/* The traces and devices of a suite */

static const char *name_of(const struct suite *suite, size_t trace)
{
	const char *name = suite->traces.paths[trace] + suite->traces.skip;

	return name + strspn(name, "/");
}

static int find_devices(struct suite *suite)
{
	const char *given = suite->set->device;
	char *save = NULL;

	suite->names = strdup(given ?: "");
	if (!suite->names)
		return log_err(-ENOMEM, "list devices");
	for (char *name = strtok_r(suite->names, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		if (suite->ndevices == DEVICES_MAX)
			return log_err(-E2BIG, "replay on more than %d devices", DEVICES_MAX);
		suite->devices[suite->ndevices++] = name;
	}
	if (!suite->ndevices)
		suite->devices[suite->ndevices++] = NULL;
	for (size_t i = 0; i < suite->ndevices; i++)
		if (device_choose(suite->devices[i], DEVICE_SYSFS, &suite->soft[i]))
			return -ENODEV;
	return 0;
}

/* A trace that cannot be read is reported by its replay. */
static int read_covers(struct suite *suite, size_t i)
{
	struct trace *trace;
	int err;

	if (trace_open(suite->traces.paths[i], &trace))
		return 0;
	err = describe_coverage(trace, &suite->covers[i], &suite->alone[i]);
	trace_close(trace);
	return err == -ENOMEM ? err : 0;
}

static int prepare_suite(struct suite *suite)
{
	size_t n;
	int err = suite_find(suite->set->suite, &suite->traces);

	if (!err)
		err = find_devices(suite);
	if (err)
		return err;
	n = suite->traces.n;
	suite->nruns = n * suite->ndevices;
	suite->covers = calloc(n, sizeof(*suite->covers));
	suite->alone = calloc(n, sizeof(*suite->alone));
	suite->runs = calloc(suite->nruns, sizeof(*suite->runs));
	if (!suite->covers || !suite->alone || !suite->runs)
		return log_err(-ENOMEM, "replay a suite");
	log_silence(true);
	for (size_t i = 0; i < n && !err; i++)
		err = read_covers(suite, i);
	log_silence(false);
	for (size_t i = 0; i < suite->nruns; i++)
		suite->runs[i] = (struct suite_run){ .path = suite->traces.paths[i % n],
						     .device = suite->devices[i / n],
						     .kind = SUITE_NOT_REACHED,
						     .cell = "not reached" };
	return err;
}

/* The replays */

static bool must_run_alone(const struct suite *suite, size_t i)
{
	size_t n = suite->traces.n;

	return suite->alone[i % n] && !suite->soft[i / n];
}

/* The processors on which this process may run: a build server may allow fewer than it has. */
static size_t count_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? (size_t)get_nprocs()
						       : (size_t)CPU_COUNT(&set);
}

static bool may_start(const struct suite *suite)
{
	if (suite->err || suite->end.why || suite->next == suite->nruns || suite->one_alone)
		return false;
	if (must_run_alone(suite, suite->next))
		return !suite->nrunning;
	return suite->nrunning < count_processors();
}

static void end_run(struct suite *suite, pid_t pid, int status)
{
	for (size_t i = 0; i < suite->next; i++) {
		if (suite->runs[i].pid != pid)
			continue;
		suite->err = suite_run_end(&suite->runs[i], status) ?: suite->err;
		suite->nrunning--;
		suite->ndone += !suite->end.why || suite->runs[i].kind != SUITE_FAILED;
		suite->one_alone = false;
		return;
	}
}

static void start_runs(struct suite *suite)
{
	while (may_start(suite)) {
		suite->err = suite_run_start(&suite->runs[suite->next], suite->again,
					     &suite->end.before);
		if (suite->err)
			return;
		suite->one_alone = must_run_alone(suite, suite->next++);
		suite->nrunning++;
	}
}

static void signal_runs(const struct suite *suite, int number)
{
	for (size_t i = 0; i < suite->next; i++)
		if (suite->runs[i].pid)
			kill(suite->runs[i].pid, number);
}

static int end_unfinished_runs(struct suite *suite)
{
	int err = 0;

	for (size_t i = 0; i < suite->next && !err; i++)
		if (suite->runs[i].pid)
			err = suite_run_leave(&suite->runs[i]);
	return err;
}

static void run_all(struct suite *suite)
{
	int status, number;
	pid_t pid;

	while (suite->nrunning || may_start(suite)) {
		start_runs(suite);
		if (!suite->nrunning)
			break;
		number = suite_end_wait(&suite->end);
		if (number)
			signal_runs(suite, number);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			end_run(suite, pid, status);
		if (suite->end.given_up)
			break;
	}
	suite->err = end_unfinished_runs(suite) ?: suite->err;
}

/* The report */

static const char *device_name(const struct suite *suite, size_t device)
{
	return suite->devices[device] ?: suite->soft[device] ? "soft" : "here";
}

static struct table *make_table(const struct suite *suite, struct column *columns)
{
	size_t n = suite->traces.n;
	struct table *table;

	columns[0] = (struct column){ "trace", COLUMN_TEXT };
	for (size_t d = 0; d < suite->ndevices; d++)
		columns[d + 1] = (struct column){ device_name(suite, d), COLUMN_TEXT };
	columns[suite->ndevices + 1] = (struct column){ "covers", COLUMN_TEXT };
	columns[suite->ndevices + 2] = (struct column){ 0 };
	table = table_new("suite", columns);
	for (size_t i = 0; i < n && table; i++) {
		table_text(table, name_of(suite, i));
		for (size_t d = 0; d < suite->ndevices; d++)
			table_text(table, suite->runs[d * n + i].cell);
		table_text(table, suite->covers[i].at);
	}
	return table;
}

static void count_kinds(const struct suite *suite, size_t counts[SUITE_KINDS])
{
	memset(counts, 0, SUITE_KINDS * sizeof(*counts));
	for (size_t i = 0; i < suite->nruns; i++)
		counts[suite->runs[i].kind]++;
}

/* "40 replays: 38 as recorded, 1 in part, 1 differs" */
static void print_verdict(const struct suite *suite)
{
	static const char *const names[SUITE_KINDS] = {
		[SUITE_SAME] = "as recorded",          [SUITE_LEFT_OUT] = "in part",
		[SUITE_LACKS] = "the device lacks it", [SUITE_DIFFERS] = "differ",
		[SUITE_FAILED] = "not replayed",       [SUITE_NOT_REACHED] = "not reached",
	};
	const char *before = ": ";
	size_t counts[SUITE_KINDS];

	count_kinds(suite, counts);
	if (suite->end.why)
		printf("partial, ended by %s after %zu of ", suite->end.why, suite->ndone);
	printf("%zu replay%s", suite->nruns, suite->nruns == 1 ? "" : "s");
	for (int kind = 0; kind < SUITE_KINDS; kind++) {
		if (!counts[kind])
			continue;
		printf("%s%zu %s", before, counts[kind], names[kind]);
		before = ", ";
	}
	putchar('\n');
}

static void print_reasons(const struct suite *suite)
{
	struct text line = { 0 };

	for (size_t i = 0; i < suite->nruns; i++) {
		const struct suite_run *run = &suite->runs[i];
		size_t n = suite->traces.n;
		char *save = NULL, *copy;

		if (!run->why.at || !(copy = strdup(run->why.at)))
			continue;
		printf("%s on %s: %s\n", name_of(suite, i % n), device_name(suite, i / n),
		       run->cell);
		for (char *at = strtok_r(copy, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
			text_cut(&line, 0);
			junit_line(&line, at);
			printf("  %s", line.failed ? "\n" : line.at);
		}
		free(copy);
	}
	text_fini(&line);
}

/* A suite that was ended early has failed, regardless of the results so far. */
static void add_partial(const struct suite *suite, struct junit *junit)
{
	char line[128];

	snprintf(line, sizeof(line), "partial, ended by %s after %zu of %zu replays",
		 suite->end.why, suite->ndone, suite->nruns);
	junit_case(junit, "suite", "all of it",
		   &(struct junit_outcome){ .failure = line, .type = "partial", .details = line });
}

static int print_junit(const struct suite *suite)
{
	const char *properties[] = { "suite", suite->set->suite, "version", VERBATIM_VERSION,
				     NULL };
	size_t n = suite->traces.n;
	struct junit junit;
	int err = junit_begin(&junit);

	for (size_t i = 0; i < suite->nruns && !err; i++) {
		const struct suite_run *run = &suite->runs[i];
		const char *why = run->why.at ?: run->cell;
		bool skipped = run->kind == SUITE_LACKS || run->kind == SUITE_LEFT_OUT ||
			       run->kind == SUITE_NOT_REACHED;
		bool failed = run->kind == SUITE_DIFFERS || run->kind == SUITE_FAILED;

		junit_case(&junit, device_name(suite, i / n), name_of(suite, i % n),
			   &(struct junit_outcome){ .failure = failed ? run->cell : NULL,
						    .type = "replay",
						    .details = why,
						    .skipped = skipped ? why : NULL,
						    .seconds = (double)run->lasted / 1e9,
						    .output = suite->covers[i % n].at });
	}
	if (!err && suite->end.why)
		add_partial(suite, &junit);
	return err ?: junit_end(&junit, "verbatim replay --suite", properties, stdout);
}

/* Columns are named by devices, rows by traces; beside them, the reasons. */
static void print_json(const struct suite *suite, const struct table *table)
{
	size_t n = suite->traces.n;

	fputs("{ ", stdout);
	if (suite->end.why)
		printf("\"partial\": \"ended by %s after %zu of %zu replays\",\n  ", suite->end.why,
		       suite->ndone, suite->nruns);
	table_print_json(table);
	fputs(", \"differences\": [", stdout);
	for (size_t i = 0, shown = 0; i < suite->nruns; i++) {
		const struct suite_run *run = &suite->runs[i];

		if (run->kind == SUITE_SAME)
			continue;
		fputs(shown++ ? ",\n  { \"trace\": " : "\n  { \"trace\": ", stdout);
		json_text(name_of(suite, i % n));
		fputs(", \"device\": ", stdout);
		json_text(device_name(suite, i / n));
		fputs(", \"result\": ", stdout);
		json_text(run->cell);
		fputs(", \"why\": ", stdout);
		json_text(run->why.at);
		fputs(" }", stdout);
	}
	fputs("] }\n", stdout);
}

static int print_suite(const struct suite *suite)
{
	struct column columns[DEVICES_MAX + 3];
	struct table *table;
	int err = 0;

	if (suite->set->format == REPLAY_JUNIT)
		return print_junit(suite);
	table = make_table(suite, columns);
	if (!table)
		return log_err(-ENOMEM, "print the suite");
	if (suite->set->format == REPLAY_JSON) {
		print_json(suite, table);
	} else {
		print_verdict(suite);
		table_print(table);
		print_reasons(suite);
	}
	table_free(table);
	return err;
}

/* Errors come first, then traces that differ or were replayed in part. */
static int status_of(const struct suite *suite)
{
	size_t counts[SUITE_KINDS];

	if (suite->end.why)
		return CLI_TRACE;
	for (size_t i = 0; i < suite->nruns; i++)
		if (suite->runs[i].kind == SUITE_FAILED)
			return suite->runs[i].status > CLI_FINDINGS ? suite->runs[i].status
								    : CLI_ENVIRONMENT;
	count_kinds(suite, counts);
	if (counts[SUITE_DIFFERS])
		return CLI_FINDINGS;
	if (suite->set->allow_partial)
		return CLI_FINE;
	return counts[SUITE_LEFT_OUT] + counts[SUITE_LACKS] ? CLI_FINDINGS : CLI_FINE;
}

static void free_suite(struct suite *suite)
{
	for (size_t i = 0; suite->runs && i < suite->nruns; i++)
		suite_run_fini(&suite->runs[i]);
	for (size_t i = 0; suite->covers && i < suite->traces.n; i++)
		text_fini(&suite->covers[i]);
	free(suite->runs);
	free(suite->covers);
	free(suite->alone);
	free(suite->names);
	suite_traces_fini(&suite->traces);
}

static int check_use(const struct replay_settings *set, const struct arguments *arguments)
{
	if (arguments->n)
		return cli_misuse("replay", "--suite already selects the traces: unexpected '%s'",
				  arguments->at[0]);
	if (slice_is_part(&set->slice) || set->wait || set->output || set->report)
		return cli_misuse("replay",
				  "--suite cannot be combined with --from, --to, --last, --only, "
				  "--wait, --record and --report");
	return CLI_FINE;
}

int suite_replay(const struct replay_settings *set, const struct arguments *arguments,
		 char *const *again)
{
	struct suite suite = { .set = set, .again = again };
	int status = check_use(set, arguments), err;

	if (status)
		return status;
	err = cli_find_file(set->suite) ?: prepare_suite(&suite);
	if (!err) {
		suite_end_begin(&suite.end, set->deadline);
		run_all(&suite);
		err = suite.err ?: print_suite(&suite);
		suite_end_finish(&suite.end);
	}
	status = err ? CLI_ENVIRONMENT : status_of(&suite);
	free_suite(&suite);
	return status;
}

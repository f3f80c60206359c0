/*
 * verbatim diff: two sides of one run or several each, compared
 *
 *	diff BEFORE AFTER		diff BEFORE... -- AFTER...
 *
 * Each trace is read, and closed again, before the next. The exit status is 1 where something is
 * worse by more than --threshold.
 *
 * Not here: how it is printed (diff_view.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/diff/diff.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/diff/diff_view.h"
#include "cli/part/part.h"
#include "core/store/open.h"
#include "core/store/read/listing.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

enum format { TEXT, JSON, JUNIT };

struct settings {
	unsigned int format;
	uint32_t threshold;
	int64_t deadline;
	struct part part;
};

/* clang-format off */
const struct option_row cli_diff_options[] = {
	{ "format", 'f', "text|json|junit", "output format",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	CLI_JSON(struct settings, format, JSON),
	{ "threshold", 0, "PERCENT", "report a value that is worse by more than PERCENT as a "
				       "regression",
	  NUMBER_AT(struct settings, threshold), .most = 1000000, .preset = "10",
	  .former = 't' },
	PART_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

/* Facts that may explain a difference. */
static int add_facts(struct trace *trace, struct diff_run *run)
{
	struct listing *listing;
	int err = listing_open(trace, LISTING_FACTS, &listing);

	while (!err && (err = listing_next(listing)) > 0) {
		const char *name = listing_text(listing, 0), *value = listing_text(listing, 1);

		err = name ? diff_run_add_fact(run, name, value && *value ? value : "none") : 0;
	}
	listing_close(listing);
	return err;
}

static void note_loss(const char *path, struct trace *trace)
{
	struct trace_loss loss = trace_loss(trace);
	char n[FORMAT_TEXT];

	if (loss.interrupted)
		log_note("%s: the recording was INTERRUPTED: calls are not counted", path);
	if (loss.events)
		log_note("%s: %s events are missing: calls are not counted", path,
			 format_count(loss.events, n));
}

static int read_run(const char *path, const struct settings *set, struct symbols *symbols,
		    struct diff_run **ret_run)
{
	struct profile_select select;
	struct trace *trace;
	int status = cli_status(cli_open_trace(path, &trace)), err;

	if (status)
		return status;
	note_loss(path, trace);
	status = part_find("diff", &set->part, trace, &select);
	if (!status) {
		cli_show_progress("diff", trace);
		err = diff_run_new(trace, path, &select, symbols, ret_run);
		if (!err)
			err = add_facts(trace, *ret_run);
		status = cli_status(err);
	}
	trace_close(trace);
	return status;
}

static int print_diff(const struct diff *diff, unsigned int format)
{
	int status = diff->regressions ? CLI_FINDINGS : CLI_FINE, err;

	if (format == JSON)
		err = diff_print_json(diff, status);
	else if (format == JUNIT)
		err = diff_print_junit(diff, status);
	else
		err = diff_print_text(diff);
	return err ? (int)cli_status(err) : status;
}

static int compare_runs(struct diff_run *const *runs, int nbefore, int n,
			const struct settings *set)
{
	struct diff_side before = { runs, (size_t)nbefore };
	struct diff_side after = { runs + nbefore, (size_t)(n - nbefore) };
	struct diff *diff = NULL;
	int status = cli_status(diff_runs(&before, &after, set->threshold, &diff));

	if (!status)
		status = print_diff(diff, set->format);
	diff_free(diff);
	return status;
}

/* How many arguments belong to the first side; -1 after an error message. */
static int count_first_side(const struct arguments *arguments)
{
	int n = arguments->n, before = arguments->rest >= 0 ? arguments->rest : n == 2 ? 1 : -1;

	if (n < 2 || before == 0 || before == n)
		cli_misuse("diff", "two traces are required, one before and one after");
	else if (before < 0)
		cli_misuse("diff", "with %d traces, put '--' between those before and those after",
			   n);
	else
		return before;
	return -1;
}

int cli_diff(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct symbols *symbols = NULL;
	struct diff_run **runs;
	int before, status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("diff");
	before = count_first_side(&arguments);
	if (before < 0)
		return CLI_USAGE;
	signal(SIGPIPE, SIG_DFL);
	runs = calloc((size_t)arguments.n, sizeof(*runs));
	status = cli_status(runs ? symbols_open(&symbols) : log_err(-ENOMEM, "runs"));
	for (int i = 0; i < arguments.n && !status; i++)
		status = read_run(arguments.at[i], &set, symbols, &runs[i]);
	symbols_close(symbols);
	if (!status)
		status = compare_runs(runs, before, arguments.n, &set);
	for (int i = 0; i < arguments.n && runs; i++)
		diff_run_free(runs[i]);
	free(runs);
	return status;
}

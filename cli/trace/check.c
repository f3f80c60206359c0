/*
 * verbatim check: the rules over a trace
 *
 * The exit status is 1 where a rule of severity error or warning has a finding, a queue pair has a
 * completion in error, a call never returned, or a process was killed that had live objects; what
 * is muted does not count. Performance and information never fail a build.
 */
#include "analyzer/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/report/known.h"
#include "analyzer/report/report.h"
#include "analyzer/report/row.h"
#include "cli/check_options.h"
#include "cli/cli.h"
#include "core/store/save.h"

enum format { TEXT, JSON, SARIF, JUNIT };

struct settings {
	unsigned int format;
	int64_t deadline;
	struct check_settings check;
	bool save;
};

const struct option_row cli_check_options[] = {
	{ "format", 'f', "text|json|sarif|junit", "how to print",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	CHECK_ROWS(struct settings, check),
	{ "save", 0, NULL, "put the findings into the trace, table finding",
	  FLAG_AT(struct settings, save) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};

static int print_report(const struct report *report, unsigned int format, int status)
{
	if (format == JSON)
		return report_json(report);
	if (format == SARIF)
		return report_sarif(report, status);
	if (format == JUNIT)
		return report_junit(report, status);
	return report_text(report);
}

/* What is to be put into the trace once it is closed. */
struct saved {
	struct stored_finding *rows; /* NULL: nothing */
	ssize_t n;
};

static int make_report(struct report *report, const struct settings *set, struct saved *saved)
{
	int err = symbols_open(&report->symbols), status;

	if (err < 0)
		return cli_status(err);
	known_judge(report->known, report);
	known_judge_facts(report->known, report);
	status = check_is_bad(report->findings) ? CLI_FINDINGS : CLI_FINE;
	err = print_report(report, set->format, status);
	known_tell(report->known, report->findings);
	if (!err && set->check.write_baseline)
		err = known_write(set->check.write_baseline, report);
	if (!err && set->save)
		saved->n = row_all(report, &saved->rows);
	symbols_close(report->symbols);
	return err < 0 ? (int)cli_status(err) : status;
}

/* The only time that the trace is not only read. */
static int save_findings(const char *path, const struct saved *saved)
{
	int err = saved->rows ? trace_save_findings(path, saved->rows, (size_t)saved->n) : 0;

	free(saved->rows);
	return err;
}

static int check_file(const struct arguments *arguments, const struct settings *set,
		      struct known *known)
{
	struct report report = { .out = stdout,
				 .path = arguments->at[0],
				 .known = known,
				 .full = set->check.preset != PRESET_NONE };
	struct findings *findings = NULL;
	struct saved saved = { 0 };
	int status = cli_open("check", arguments, 1, &report.trace), err;

	if (status)
		return status;
	cli_show_progress("check", report.trace);
	err = check_trace(report.trace, &set->check.check, &findings);
	report.findings = findings;
	status = err < 0 ? (int)cli_status(err) : make_report(&report, set, &saved);
	trace_close(report.trace);
	err = save_findings(report.path, &saved);
	findings_free(findings);
	return err < 0 ? (int)cli_status(err) : status;
}

int cli_check(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct known *known = NULL;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	status = check_settings_open(argv[0], &set.check, &known);
	if (!status)
		status = check_file(&arguments, &set, known);
	known_close(known);
	return status;
}

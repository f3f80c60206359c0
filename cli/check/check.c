/*
 * verbatim check: the rules over a trace, or over several of one job
 *
 * The exit status is 1 if a rule of severity error or warning has a finding, a queue pair has a
 * completion in error, a call never returned, or a process with live objects was killed; muted
 * findings do not count. Performance and information never fail a build.
 */
#include "analyzer/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/clocks.h"
#include "analyzer/report/known.h"
#include "analyzer/report/report.h"
#include "analyzer/report/row.h"
#include "cli/check_options.h"
#include "cli/cli.h"
#include "cli/open_all.h"
#include "cli/part/slice_file.h"
#include "core/base/text.h"
#include "core/store/read/joint.h"
#include "core/store/save.h"
#include "core/wire/log.h"

enum format { TEXT, JSON, SARIF, JUNIT };

enum { NAMED_MOST = 8, NAMED_OF_MANY = 3 }; /* traces */

struct settings {
	unsigned int format;
	int64_t deadline;
	struct check_settings check;
	struct slice slice;
	bool save;
};

const struct option_row cli_check_options[] = {
	{ "format", 'f', "text|json|sarif|junit", "output format",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	CLI_JSON(struct settings, format, JSON),
	CHECK_ROWS(struct settings, check),
	{ "save", 0, NULL, "store the findings in table finding of the trace",
	  FLAG_AT(struct settings, save) },
	SLICE_OPTIONS(struct settings),
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

static int make_report(struct report *report, const struct settings *set, struct rows *rows)
{
	size_t nparts = trace_nparts(report->trace);
	int err = symbols_open(&report->symbols), status;

	if (err < 0)
		return cli_status(err);
	suppressions_mark_findings(report->known, report);
	suppressions_mark_facts(report->known, report);
	status = check_is_bad(report->findings) ? CLI_FINDINGS : CLI_FINE;
	err = print_report(report, set->format, status);
	suppressions_report(report->known, report->findings);
	if (!err && set->check.write_baseline)
		err = put_baseline(set->check.write_baseline, report);
	for (size_t i = 0; i < nparts && !err && set->save; i++)
		err = rows_init(&rows[i], report, i);
	symbols_close(report->symbols);
	return err < 0 ? (int)cli_status(err) : status;
}

/* "a.db, b.db"; of many traces: "a.db, b.db, c.db and 125 more traces" */
static int name_traces(const struct arguments *arguments, char **ret_path)
{
	int shown = arguments->n <= NAMED_MOST ? arguments->n : NAMED_OF_MANY;
	struct text text = { 0 };

	for (int i = 0; i < shown; i++)
		text_addf(&text, "%s%s", i ? ", " : "", arguments->at[i]);
	if (shown < arguments->n)
		text_addf(&text, " and %d more traces", arguments->n - shown);
	if (text.failed) {
		text_fini(&text);
		return log_err(-ENOMEM, "names of traces");
	}
	*ret_path = text.at;
	return 0;
}

static int check_traces(struct report *report, const struct settings *set, struct rows *rows,
			struct findings **ret_findings)
{
	int err = trace_nparts(report->trace) > 1 ? clocks_join(report->trace) : 0;

	cli_report_waits(report->trace, true);
	cli_show_progress("check", report->trace);
	if (!err)
		err = check_trace(report->trace, &set->check.check, ret_findings);
	report->findings = *ret_findings;
	return err < 0 ? (int)cli_status(err) : make_report(report, set, rows);
}

/* Check one trace, or several traces joined into one. */
static int check_files(const struct arguments *arguments, const struct settings *set,
		       struct suppressions *known)
{
	struct report report = { .out = stdout,
				 .known = known,
				 .full = set->check.preset != PRESET_NONE };
	int status = cli_open_all("check", arguments, &report.trace), err = 0;
	struct findings *findings = NULL;
	struct slice_file part = { 0 };
	struct rows *rows;
	char *path = NULL;

	if (!status)
		status = slice_file_open("check", &set->slice, arguments->at[0], &report.trace,
					 &part);
	if (status)
		return status;
	rows = calloc((size_t)arguments->n, sizeof(*rows));
	err = rows ? name_traces(arguments, &path) : log_err(-ENOMEM, "findings");
	report.path = path;
	if (!err)
		status = check_traces(&report, set, rows, &findings);
	trace_close(report.trace);
	slice_file_remove(&part);
	for (int i = 0; i < arguments->n && rows; i++) {
		/* the only case that writes to the trace */
		if (!err && set->save && status <= CLI_FINDINGS)
			err = trace_save_findings(arguments->at[i], rows[i].all, rows[i].n);
		rows_fini(&rows[i]);
	}
	findings_free(findings);
	free(rows);
	free(path);
	return err < 0 ? (int)cli_status(err) : status;
}

int cli_check(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct suppressions *known = NULL;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("check");
	status = slice_check("check", &set.slice, arguments.n);
	if (!status && set.save && slice_is_part(&set.slice))
		status = cli_misuse(
			"check",
			"--save stores the findings of a whole trace: write a part as a trace with "
			"'verbatim trim'");
	if (!status)
		status = check_settings_open(argv[0], &set.check, &known);
	if (!status)
		status = check_files(&arguments, &set, known);
	suppressions_close(known);
	return status;
}

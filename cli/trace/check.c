/*
 * verbatim check: the rules over a trace
 *
 * The exit status is 1 where a rule of severity error or warning has a finding
 * that is not muted; performance and information never fail a build.
 */
#include "analyzer/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/report.h"
#include "cli/cli.h"

enum format { TEXT, JSON, SARIF, JUNIT };

struct settings {
	unsigned int format;
	int64_t deadline;
	struct check_options check;
};

/* @field: struct check_options; the option may be given again. */
static int parse_mute(const char *ids, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct check_options *options = field;
	char id[64];
	size_t n;

	for (; *ids; ids += n + (ids[n] == ',')) {
		int rule;

		n = strcspn(ids, ",");
		snprintf(id, sizeof(id), "%.*s", (int)n, ids);
		rule = rule_find(id);
		if (rule < 0) {
			snprintf(complaint, OPTIONS_COMPLAINT,
				 "there is no rule '%s'; 'verbatim explain' lists them", id);
			return -EINVAL;
		}
		options->mute[rule] = true;
	}
	return 0;
}

const struct option_row cli_check_options[] = {
	{ "format", 'f', "text|json|sarif|junit", "how to print",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	{ "mute", 'm', "RULE[,RULE...]", "rules not to check; may be given again",
	  PARSED_AT(struct settings, check, parse_mute) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};

static int exit_status(const struct findings *findings)
{
	return findings_count(findings, 'E') || findings_count(findings, 'W') ? CLI_FINDINGS
									      : CLI_FINE;
}

static int print_report(const char *path, struct trace *trace, const struct findings *findings,
			unsigned int format)
{
	struct report report = {
		.out = stdout, .trace = trace, .path = path, .findings = findings
	};
	int err = symbols_open(&report.symbols), status = exit_status(findings);

	if (err < 0)
		return cli_status(err);
	if (format == JSON)
		err = report_json(&report);
	else if (format == SARIF)
		err = report_sarif(&report, status);
	else if (format == JUNIT)
		err = report_junit(&report, status);
	else
		report_text(&report);
	symbols_close(report.symbols);
	return err < 0 ? (int)cli_status(err) : status;
}

int cli_check(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct findings *findings;
	struct trace *trace;
	int status, err;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	status = cli_open(argv[0], &arguments, 1, &trace);
	if (status)
		return status;
	cli_show_progress(argv[0], trace);
	err = check_trace(trace, &set.check, &findings);
	if (err < 0) {
		status = cli_status(err);
	} else {
		status = print_report(arguments.at[0], trace, findings, set.format);
		findings_free(findings);
	}
	trace_close(trace);
	return status;
}

/*
 * verbatim check: the rules over a trace
 *
 * The exit status is 1 where a rule of severity error or warning has a finding
 * that is not muted; performance and information never fail a build.
 */
#include "analyzer/check.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/report.h"
#include "cli/cli.h"
#include "cli/options.h"

enum { FORMAT, MUTE, DEADLINE };

static const struct option_row rows[] = {
	[FORMAT] = { "format", 'f', "text|json", "how to print; text" },
	[MUTE] = { "mute", 'm', "ID[,ID...]", "rules not to check; may be given again" },
	[DEADLINE] = CLI_DEADLINE,
	{ 0 },
};

/* Returns 0 or the exit status. */
static int mute(const char *command, const char *ids, struct check_options *options)
{
	char id[64];
	size_t n;

	for (; *ids; ids += n + (ids[n] == ',')) {
		int rule;

		n = strcspn(ids, ",");
		snprintf(id, sizeof(id), "%.*s", (int)n, ids);
		rule = rule_find(id);
		if (rule < 0)
			return cli_misuse(command,
					  "there is no rule '%s'; 'verbatim explain' "
					  "lists them",
					  id);
		options->mute[rule] = true;
	}
	return 0;
}

/* The value of --mute at argv[i], or NULL. */
static const char *mute_at(char **argv, int i)
{
	if (!strcmp(argv[i], "--mute") || !strcmp(argv[i], "-m"))
		return argv[i + 1];
	if (!strncmp(argv[i], "--mute=", 7))
		return argv[i] + 7;
	return !strncmp(argv[i], "-m", 2) ? argv[i] + 2 : NULL;
}

static int read_options(int argc, char **argv, struct options *options, struct check_options *check)
{
	int status = 0;

	/* of an option that is given again, struct options has the last; here all count */
	for (int i = 1; i < argc && !status && strcmp(argv[i], "--"); i++)
		if (mute_at(argv, i))
			status = mute(argv[0], mute_at(argv, i), check);
	if (status)
		return status;
	options_parse(argc, argv, rows, false, options);
	return options->value[MUTE] ? mute(argv[0], options->value[MUTE], check) : 0;
}

static int print(const char *path, struct trace *trace, const struct findings *findings, bool json)
{
	struct report report = {
		.out = stdout, .trace = trace, .path = path, .findings = findings
	};
	int err = symbols_open(&report.symbols);

	if (err < 0)
		return cli_status(err);
	if (json)
		err = report_json(&report);
	else
		report_text(&report);
	symbols_close(report.symbols);
	if (err < 0)
		return cli_status(err);
	return findings_count(findings, 'E') || findings_count(findings, 'W') ? CLI_FINDINGS
									      : CLI_FINE;
}

int cli_check(int argc, char **argv)
{
	struct check_options check = { .mute = { false } };
	struct findings *findings;
	struct options options;
	struct trace *trace;
	int status, err;
	bool json;

	status = read_options(argc, argv, &options, &check);
	if (status)
		return status;
	json = cli_wants_json(argv[0], options.value[FORMAT]);
	status = cli_deadline(argv[0], options.value[DEADLINE]);
	if (!status)
		status = cli_open(argv[0], options.nargs, options.args, &trace);
	if (status)
		return status;
	cli_show_progress(argv[0], trace);
	err = check_trace(trace, &check, &findings);
	if (err < 0) {
		status = cli_status(err);
	} else {
		status = print(options.args[0], trace, findings, json);
		findings_free(findings);
	}
	trace_close(trace);
	return status;
}

/*
 * verbatim explain: what a rule means, why it matters, what to do
 */
#include <stdio.h>

#include "analyzer/report.h"
#include "cli/cli.h"
#include "cli/options.h"

enum { MARKDOWN };

static const struct option_row rows[] = {
	[MARKDOWN] = { "markdown", 0, NULL, "print all rules for docs/RULES.md" },
	{ 0 },
};

int cli_explain(int argc, char **argv)
{
	struct options options;

	options_parse(argc, argv, rows, false, &options);
	for (int i = 0; options.value[MARKDOWN] && i < RULE_COUNT; i++)
		report_markdown(stdout, (enum rule_id)i);
	if (!options.nargs && !options.value[MARKDOWN])
		report_rules(stdout);
	for (int i = 0; i < options.nargs; i++) {
		int rule = rule_find(options.args[i]);

		if (rule < 0)
			return cli_misuse(argv[0],
					  "there is no rule '%s'; without an argument all "
					  "are listed",
					  options.args[i]);
		if (i > 0)
			putchar('\n');
		report_rule(stdout, (enum rule_id)rule);
	}
	return CLI_FINE;
}

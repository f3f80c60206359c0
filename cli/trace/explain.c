/*
 * verbatim explain: what a rule means, why it matters, what to do
 */
#include <stdio.h>

#include "analyzer/report/report.h"
#include "cli/cli.h"
#include "cli/suggest.h"

struct settings {
	bool markdown;
};

const struct option_row cli_explain_options[] = {
	{ "markdown", 0, NULL, "print all rules in Markdown, as RULES.md has them",
	  FLAG_AT(struct settings, markdown) },
	{ 0 },
};

static int refuse_rule(const char *command, const char *name)
{
	struct suggestion near = { .word = name };

	for (int i = 0; i < RULE_COUNT; i++)
		suggest_name(&near, rules[i].name);
	return cli_misuse(command, "there is no rule '%s'%s; without an argument all are listed",
			  name, suggest_text(&near));
}

int cli_explain(int argc, char **argv)
{
	struct settings set = { false };
	struct arguments arguments;

	cli_parse(argc, argv, &set, &arguments);
	for (int i = 0; set.markdown && i < RULE_COUNT; i++)
		report_markdown(stdout, (enum rule_id)i);
	if (!arguments.n && !set.markdown)
		report_rules(stdout);
	for (int i = 0; i < arguments.n; i++) {
		int rule = rule_find(arguments.at[i]);

		if (rule < 0)
			return refuse_rule(argv[0], arguments.at[i]);
		if (i > 0)
			putchar('\n');
		report_rule(stdout, (enum rule_id)rule);
	}
	return CLI_FINE;
}

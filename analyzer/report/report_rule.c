/*
 * The text of rules.def for a rule, for a person
 */
#include "analyzer/report/report.h"
#include "analyzer/report/wrap.h"

static void print_field(FILE *out, const char *title, const char *text)
{
	int column = fprintf(out, "%-12s ", title);

	wrap_text(out, column, 13, text);
}

void report_rule(FILE *out, enum rule_id rule)
{
	const struct rule *r = &rules[rule];

	fprintf(out, "%s %s, %s\n\n", r->id, r->name, rule_severity(r->severity));
	print_field(out, "what", r->means);
	print_field(out, "why", r->harm);
	print_field(out, "to do", r->advice);
	print_field(out, "source", r->source);
}

void report_markdown(FILE *out, enum rule_id rule)
{
	const struct rule *r = &rules[rule];

	fprintf(out, "\n## %s %s\n\nSeverity: %s.\n\n", r->id, r->name, rule_severity(r->severity));
	wrap_text(out, 0, 0, r->means);
	fprintf(out, "\n**Why.** ");
	wrap_text(out, 9, 0, r->harm);
	fprintf(out, "\n**What to do.** ");
	wrap_text(out, 16, 0, r->advice);
	fprintf(out, "\n**Source.** ");
	wrap_text(out, 12, 0, r->source);
}

void report_rules(FILE *out)
{
	for (int i = 0; i < RULE_COUNT; i++)
		fprintf(out, "%-10s %-24s %s\n", rules[i].id, rules[i].name,
			rule_severity(rules[i].severity));
}

/*
 * Findings as JUnit: a test case for each rule, in the class of its family, and for each kind of
 * facts
 *
 * Rules of severity performance and information never fail; their findings are output. A rule that
 * was not checked, or is muted, is skipped.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/check.h"
#include "analyzer/report/junit.h"
#include "analyzer/model/words.h"
#include "analyzer/report/report.h"
#include "analyzer/report/fact_list.h"

/* The findings of @rule as text, for free(); NULL: none. */
static char *print_findings(const struct report *report, enum rule_id rule)
{
	const struct findings *findings = report->findings;
	struct report part = *report;
	bool told[RULE_COUNT];
	char *text = NULL;
	size_t size = 0, n = 0;

	memset(told, 0, sizeof(told));
	part.out = open_memstream(&text, &size);
	if (!part.out)
		return NULL;
	for (size_t i = 0; i < findings->n; i++)
		if (findings->all[i]->rule == rule && findings->all[i]->known == FINDING_NEW) {
			report_print_finding(&part, findings->all[i], told);
			n++;
		}
	fclose(part.out);
	if (!n) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *find_why(const struct findings *findings, enum rule_id rule, bool partly)
{
	for (size_t i = 0; i < findings->nunchecked; i++)
		if (findings->unchecked[i].rule == rule && findings->unchecked[i].partly == partly)
			return findings->unchecked[i].because;
	return NULL;
}

static void put_rule(struct junit *junit, const struct report *report, enum rule_id id)
{
	const struct findings *findings = report->findings;
	const struct rule *rule = &rules[id];
	const char *partly = find_why(findings, id, true);
	uint64_t n = findings_count_new(findings, id),
		 hazards = findings_count_new_hazards(findings, id);
	bool fails = (n && check_is_failure(findings, rule->severity)) ||
		     (hazards && check_is_failure(findings, 'H'));
	char *text = print_findings(report, id);
	char name[64], sum[64], family[16];
	struct text why = { 0 };

	snprintf(name, sizeof(name), "%s %s", rule->id, rule->name);
	snprintf(family, sizeof(family), "%.*s", (int)strcspn(rule->id, "-"), rule->id);
	words_format_count(n ?: hazards, n ? "finding" : "hazard", sum);
	if (partly) {
		text_addf(&why, "checked in part, because ");
		junit_line(&why, partly);
	}
	junit_case(junit, family, name,
		   &(struct junit_outcome){ .failure = fails ? sum : NULL,
					    .type = rule_severity(rule->severity),
					    .details = text,
					    .skipped = findings->off[id] ? "muted"
						       : findings->skip[id]
							       ? find_why(findings, id, false)
							       : NULL,
					    .output = !fails && text ? text : why.at });
	text_fini(&why);
	free(text);
}

/* The facts of one kind. */
struct reported_kind {
	enum fact_kind kind;
	struct text text;
	bool fails;
};

static int put_fact(void *arg, const struct listed_fact *fact)
{
	struct reported_kind *told = arg;
	struct text line = { 0 };
	char id[32];

	if (fact->kind != told->kind)
		return 0;
	if (fact->event.thread)
		text_addf(&line, "%s  ", event_id_text(fact->event, id));
	text_addf(&line, "%s", fact->says);
	if (fact->count > 1)
		text_addf(&line, ", %" PRIu64 " times", fact->count);
	junit_line(&told->text, line.at ? line.at : "");
	text_fini(&line);
	told->fails |= !fact->known;
	return 0;
}

/* All facts of a kind are one test case. */
static void put_facts(struct junit *junit, const struct report *report, enum fact_kind kind)
{
	const struct facts *facts = report->findings->facts;
	const struct fact_info *info = &fact_infos[kind];
	struct reported_kind told = { .kind = kind };
	bool fails;
	char sum[64];

	fact_list_each(report, put_fact, &told);
	fails = told.fails && info->bad && !facts->off[kind];
	snprintf(sum, sizeof(sum), "%s: %" PRIu64, info->title, facts_count(facts, kind));
	junit_case(junit, "facts", info->name,
		   &(struct junit_outcome){ .failure = fails ? sum : NULL,
					    .type = "error",
					    .details = told.text.at,
					    .skipped = facts->off[kind] ? "muted" : NULL,
					    .output = fails ? NULL : told.text.at });
	text_fini(&told.text);
}

int report_junit(const struct report *report, int status)
{
	char events[32], exit_status[16];
	const char *properties[] = { "trace",          report->path, "version",
				     VERBATIM_VERSION, "events",     events,
				     "exit-status",    exit_status,  NULL };
	struct junit junit;
	int err = junit_begin(&junit);

	if (err)
		return err;
	snprintf(events, sizeof(events), "%" PRIu64, trace_events(report->trace));
	snprintf(exit_status, sizeof(exit_status), "%d", status);
	for (int i = 0; i < FACT_COUNT; i++)
		put_facts(&junit, report, (enum fact_kind)i);
	for (int i = 0; i < RULE_COUNT; i++)
		put_rule(&junit, report, (enum rule_id)i);
	return junit_end(&junit, report->path, properties, report->out);
}

/*
 * Findings as SARIF 2.1.0, the format that code hosts and editors read
 *
 * 	run
 * 	  tool.driver.rules      all rules, in the order of rules.def: ruleIndex is enum rule_id;
 * 	                         then the kinds of facts
 * 	  invocations            exit status; a notification for each rule that was not checked
 * 	  results                a fact or a finding each
 * 	    locations            the innermost known line of the event that broke the rule
 * 	    codeFlows            made, destroyed, used: each step with its stack, by threads
 * 	    partialFingerprints  fingerprint.h
 *
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzer/report/known.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/sentence.h"
#include "analyzer/report/fact_list.h"
#include "core/base/json.h"
#include "core/wire/log.h"

struct sarif {
	struct json json;
	const struct report *report;
	char root[PATH_MAX];
};

enum { NOTE_UNCHECKED, NOTE_PARTLY };

static const char *name_level(char severity)
{
	return severity == 'E' ? "error" : severity == 'W' ? "warning" : "note";
}

/* With @line, @message or both; either may be NULL. */
static void put_location(struct sarif *s, const char *name, const struct report_line *line,
			 const char *message)
{
	struct sarif_place place = { 0 };

	if (line)
		place = (struct sarif_place){ .function = line->symbol.function,
					      .path = line->symbol.path,
					      .line = line->symbol.line,
					      .module = line->frame.module,
					      .offset = line->frame.offset };
	sarif_location(&s->json, s->root, name, &place, message);
}

/* The innermost line that has a source file; or the innermost of all. */
static const struct report_line *choose_line(const struct report_line *lines, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (lines[i].symbol.path)
			return &lines[i];
	return n ? lines : NULL;
}

static void put_stack(struct sarif *s, const struct report_line *lines, unsigned int n)
{
	json_open(&s->json, "stack", '{');
	json_open(&s->json, "frames", '[');
	for (unsigned int i = 0; i < n; i++) {
		json_open(&s->json, NULL, '{');
		put_location(s, "location", &lines[i], NULL);
		if (lines[i].symbol.module)
			json_put_text(&s->json, "module", lines[i].symbol.module);
		json_close(&s->json, '}');
	}
	json_close(&s->json, ']');
	json_close(&s->json, '}');
}

/* "created at 1:12 by ibv_create_qp()" */
static void add_step_message(struct text *text, const struct finding_step *step)
{
	char id[32];

	text_addf(text, "%s", step->what);
	if (step->moment.id.thread)
		text_addf(text, " at %s", event_id_text(step->moment.id, id));
	if (step->moment.verb != VERB_COUNT)
		text_addf(text, " by %s()", verb_infos[step->moment.verb].name);
}

static void put_step(struct sarif *s, const struct finding_step *step, unsigned int order)
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report_stack(s->report, step->moment.stack, lines);
	struct text text = { 0 };

	add_step_message(&text, step);
	json_open(&s->json, NULL, '{');
	put_location(s, "location", choose_line(lines, n), text.at);
	if (n)
		put_stack(s, lines, n);
	json_put_int(&s->json, "executionOrder", order);
	json_put_text(&s->json, "importance", "essential");
	json_close(&s->json, '}');
	s->json.out->failed |= text.failed;
	text_fini(&text);
}

/* The steps of one thread; executionOrder gives the order of steps of several threads. */
static void put_thread_flow(struct sarif *s, const struct finding *f, uint32_t thread)
{
	const struct id_range *of = ids_find_range(thread, 0);
	char name[48];

	json_open(&s->json, NULL, '{');
	snprintf(name, sizeof(name), "%s%sthread %u", of ? of->name : "", of ? " " : "",
		 thread_number(thread));
	json_put_text(&s->json, "id", name);
	json_open(&s->json, "locations", '[');
	for (unsigned int i = 0; i < f->nsteps; i++)
		if (f->steps[i].moment.id.thread == thread)
			put_step(s, &f->steps[i], i + 1);
	json_close(&s->json, ']');
	json_close(&s->json, '}');
}

static void put_flows(struct sarif *s, const struct finding *f)
{
	if (!f->nsteps)
		return;
	json_open(&s->json, "codeFlows", '[');
	json_open(&s->json, NULL, '{');
	json_open(&s->json, "threadFlows", '[');
	for (unsigned int i = 0; i < f->nsteps; i++) {
		uint32_t thread = f->steps[i].moment.id.thread;
		unsigned int k = 0;

		while (f->steps[k].moment.id.thread != thread)
			k++;
		if (k == i) /* the first of this thread */
			put_thread_flow(s, f, thread);
	}
	json_close(&s->json, ']');
	json_close(&s->json, '}');
	json_close(&s->json, ']');
}

static void put_locations(struct sarif *s, const struct finding *f)
{
	struct report_line lines[REPORT_FRAMES];
	const struct report_line *line = NULL;

	for (unsigned int i = f->nsteps; i-- > 0 && !line;)
		line = choose_line(lines, report_stack(s->report, f->steps[i].moment.stack, lines));
	json_open(&s->json, "locations", '[');
	if (line)
		put_location(s, NULL, line, NULL);
	json_close(&s->json, ']');
}

static void put_moment(struct sarif *s, struct event_id event, int64_t time, uint32_t process,
		       uint32_t thread)
{
	const struct id_range *of = ids_find_range(0, process);
	char id[32];

	if (event.thread)
		json_put_text(&s->json, "event", event_id_text(event, id));
	json_put_int(&s->json, "time", time);
	if (of)
		json_put_text(&s->json, "trace", of->name);
	json_put_int(&s->json, "process", process - (of ? of->processes : 0));
	json_put_int(&s->json, "thread", thread - (of ? of->threads : 0));
}

static void put_properties(struct sarif *s, const struct finding *f)
{
	json_open(&s->json, "properties", '{');
	put_moment(s, f->event, f->time, f->process, f->thread);
	json_put_text(&s->json, "object", f->object);
	json_put_text(&s->json, "where", f->where);
	json_close(&s->json, '}');
}

/* A result that is suppressed, or was in the baseline, is listed and does not count. */
static void put_known(struct sarif *s, unsigned int known)
{
	if (known & FINDING_SUPPRESSED) {
		json_open(&s->json, "suppressions", '[');
		json_open(&s->json, NULL, '{');
		json_put_text(&s->json, "kind", "external");
		json_put_text(&s->json, "status", "accepted");
		json_close(&s->json, '}');
		json_close(&s->json, ']');
	}
	if (suppressions_have_baseline(s->report->known))
		json_put_text(&s->json, "baselineState",
			      known & FINDING_BASELINE ? "unchanged" : "new");
}

static void put_message(struct sarif *s, const struct finding *f)
{
	struct text text = { 0 };

	sentence_put_finding(&text, f);
	sarif_message(&s->json, "message", text.at);
	s->json.out->failed |= text.failed;
	text_fini(&text);
}

static void put_result(struct sarif *s, const struct finding *f)
{
	const struct rule *rule = &rules[f->rule];
	char fingerprint[FINGERPRINT];

	json_open(&s->json, NULL, '{');
	json_put_text(&s->json, "ruleId", rule->id);
	json_put_int(&s->json, "ruleIndex", f->rule);
	json_put_text(&s->json, "level", name_level(finding_severity(f)));
	put_message(s, f);
	put_locations(s, f);
	sarif_fingerprint(&s->json, report_fingerprint(s->report, f, fingerprint));
	json_put_uint(&s->json, "occurrenceCount", finding_times(f));
	put_known(s, f->known);
	put_flows(s, f);
	put_properties(s, f);
	json_close(&s->json, '}');
}

static void put_rule(struct json *json, const struct rule *rule)
{
	struct text help = { 0 };
	char severity[2] = { rule->severity, '\0' };

	text_addf(&help, "%s\n\n%s\n\nSource: %s", rule->harm, rule->advice, rule->source);
	json_open(json, NULL, '{');
	json_put_text(json, "id", rule->id);
	json_put_text(json, "name", rule->name);
	sarif_message(json, "shortDescription", rule->means);
	sarif_message(json, "fullDescription", rule->means);
	sarif_message(json, "help", help.at);
	json_open(json, "defaultConfiguration", '{');
	json_put_text(json, "level", name_level(rule->severity));
	json_close(json, '}');
	json_open(json, "properties", '{');
	json_put_text(json, "severity", severity);
	json_put_text(json, "evidence", rule->evidence);
	json_close(json, '}');
	json_close(json, '}');
	json->out->failed |= help.failed;
	text_fini(&help);
}

/* The kinds of facts are listed as rules, after the rules of rules.def. */
static void put_fact_kind(struct json *json, const struct fact_info *info)
{
	json_open(json, NULL, '{');
	json_put_text(json, "id", info->name);
	sarif_message(json, "shortDescription", info->title);
	json_open(json, "defaultConfiguration", '{');
	json_put_text(json, "level", info->bad ? "error" : "note");
	json_close(json, '}');
	json_close(json, '}');
}

static void put_note_kind(struct json *json, const char *id, const char *text)
{
	json_open(json, NULL, '{');
	json_put_text(json, "id", id);
	sarif_message(json, "shortDescription", text);
	json_close(json, '}');
}

static void put_tool(struct json *json)
{
	json_open(json, "tool", '{');
	json_open(json, "driver", '{');
	json_put_text(json, "name", "verbatim");
	json_put_text(json, "version", VERBATIM_VERSION);
	json_open(json, "rules", '[');
	for (int i = 0; i < RULE_COUNT; i++)
		put_rule(json, &rules[i]);
	for (int i = 0; i < FACT_COUNT; i++)
		put_fact_kind(json, &fact_infos[i]);
	json_close(json, ']');
	json_open(json, "notifications", '[');
	put_note_kind(json, "not-checked", "The trace has no evidence for a rule.");
	put_note_kind(json, "checked-in-part",
		      "The trace has only a part of the evidence for a "
		      "rule.");
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
}

static void put_reference(struct json *json, const char *name, const char *id, int index)
{
	json_open(json, name, '{');
	json_put_text(json, "id", id);
	json_put_int(json, "index", index);
	json_close(json, '}');
}

static void put_unchecked(struct json *json, const struct unchecked_rule *u)
{
	json_open(json, NULL, '{');
	put_reference(json, "descriptor", u->partly ? "checked-in-part" : "not-checked",
		      u->partly ? NOTE_PARTLY : NOTE_UNCHECKED);
	put_reference(json, "associatedRule", rules[u->rule].id, (int)u->rule);
	json_put_text(json, "level", u->partly ? "note" : "warning");
	sarif_message(json, "message", u->because);
	json_close(json, '}');
}

static void put_disabled_rule(struct json *json, const char *id, int index)
{
	json_open(json, NULL, '{');
	put_reference(json, "descriptor", id, index);
	json_open(json, "configuration", '{');
	json_put_bool(json, "enabled", false);
	json_close(json, '}');
	json_close(json, '}');
}

static void put_disabled_rules(struct json *json, const struct findings *findings)
{
	json_open(json, "ruleConfigurationOverrides", '[');
	for (int i = 0; i < RULE_COUNT; i++)
		if (findings->off[i])
			put_disabled_rule(json, rules[i].id, i);
	for (int i = 0; i < FACT_COUNT; i++)
		if (findings->facts->off[i])
			put_disabled_rule(json, fact_infos[i].name, RULE_COUNT + i);
	json_close(json, ']');
}

static void put_invocation(struct sarif *s, int status)
{
	const struct findings *findings = s->report->findings;
	struct json *json = &s->json;

	json_open(json, "invocations", '[');
	json_open(json, NULL, '{');
	json_put_bool(json, "executionSuccessful", true);
	json_put_int(json, "exitCode", status);
	json_put_text(json, "exitCodeDescription",
		      status ? "problems that are not muted" : "no problems");
	put_disabled_rules(json, findings);
	json_open(json, "toolExecutionNotifications", '[');
	for (size_t i = 0; i < findings->nunchecked; i++)
		put_unchecked(json, &findings->unchecked[i]);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, ']');
}

/* A result that is a fact. */
static int put_fact(void *arg, const struct listed_fact *fact)
{
	struct sarif *s = arg;
	const struct fact_info *info = &fact_infos[fact->kind];
	struct report_line lines[REPORT_FRAMES];
	const struct report_line *line =
		choose_line(lines, report_stack(s->report, fact->stack, lines));

	if (s->report->findings->facts->off[fact->kind])
		return 0;
	json_open(&s->json, NULL, '{');
	json_put_text(&s->json, "ruleId", info->name);
	json_put_int(&s->json, "ruleIndex", RULE_COUNT + (int)fact->kind);
	json_put_text(&s->json, "level", info->bad ? "error" : "note");
	sarif_message(&s->json, "message", fact->says);
	json_open(&s->json, "locations", '[');
	if (line)
		put_location(s, NULL, line, NULL);
	json_close(&s->json, ']');
	sarif_fingerprint(&s->json, fact->fingerprint);
	json_put_uint(&s->json, "occurrenceCount", fact->count);
	put_known(s, fact->known);
	json_open(&s->json, "properties", '{');
	put_moment(s, fact->event, fact->time, fact->process, fact->thread);
	if (fact->object)
		json_put_text(&s->json, "object", fact->object);
	json_close(&s->json, '}');
	json_close(&s->json, '}');
	return 0;
}

static void put_run(struct sarif *s, int status)
{
	const struct findings *findings = s->report->findings;

	json_open(&s->json, NULL, '{');
	put_tool(&s->json);
	sarif_put_root(&s->json, s->root);
	json_put_text(&s->json, "columnKind", "unicodeCodePoints");
	put_invocation(s, status);
	json_open(&s->json, "results", '[');
	fact_list_each(s->report, put_fact, s);
	for (size_t i = 0; i < findings->n; i++)
		put_result(s, findings->all[i]);
	json_close(&s->json, ']');
	json_open(&s->json, "properties", '{');
	json_put_text(&s->json, "trace", s->report->path);
	json_put_uint(&s->json, "events", trace_events(s->report->trace));
	json_close(&s->json, '}');
	json_close(&s->json, '}');
}

int report_sarif(const struct report *report, int status)
{
	struct text text = { 0 };
	struct sarif s = { .json = { .out = &text }, .report = report };
	int err = 0;

	sarif_begin(&s.json, s.root);
	json_open(&s.json, "runs", '[');
	put_run(&s, status);
	json_close(&s.json, ']');
	json_close(&s.json, '}');
	text_char(&text, '\n');
	if (text.failed)
		err = log_err(-ENOMEM, "report");
	else
		fwrite(text.at, 1, text.used, report->out);
	text_fini(&text);
	return err;
}

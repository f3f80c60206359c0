/*
 * The first screen: what went wrong first, where, and what to change
 *
 * 	t.db: 2 processes, 2.06 s, 107 events, 0 lost               BAD: 1 verb failed, 1 error
 * 	failed verbs (1)
 * 	  1:39  ibv_modify_qp(qp1 -> RTS) = EINVAL: lacks IBV_QP_RNR_RETRY   to_rts (app.c:20)
 * 	never returned (0)   completions in error (0)   killed (0)   fatal events (0)
 * 	findings (1 error of 58 rules)
 * 	  E LIFE-001 use-after-destroy   1:45   acknowledge_events (app.c:55)
 * 	    what happened
 * 	    to do: what to change
 *
 * At most SCREEN lines. Entries that do not fit are counted; they are below, or in the JSON report.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/clock_text.h"
#include "analyzer/check.h"
#include "analyzer/explain/explain.h"
#include "analyzer/model/abi.h"
#include "analyzer/report/groups.h"
#include "analyzer/report/known.h"
#include "analyzer/report/places.h"
#include "analyzer/report/sentence.h"
#include "analyzer/report/wrap.h"
#include "analyzer/rules/judge.h"
#include "core/base/text.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"
#include "core/wire/hash.h"

enum {
	SCREEN = 24,
	COLUMN = 60,
	FACTS_SHOWN = 4,
	ERRORS_SHOWN = 3,
	CLOCKS_SHOWN = 3,
	CAUSES_SHOWN = 3,
	HAZARD_LINES = 4, /* of most hazards that are told in full */
	FINDINGS = FACT_COUNT,
	TEXT = 512
};

struct screen {
	const struct report *report;
	struct groups errors;
	unsigned int left;       /* lines */
	unsigned int kept;       /* lines kept for later parts */
	struct places *places;   /* the rows of each list: a kind of facts, or FINDINGS */
	struct wrap_spans spans; /* of the text that is printed next */
};

/*
 * Print @t in lines that begin at @indent, if there is room for them, and empty it and the spans.
 */
static bool emit_text(struct screen *screen, unsigned int indent, struct text *t)
{
	unsigned int lines = 0;
	char *shown = NULL;
	size_t size = 0;
	FILE *out = t->failed ? NULL : open_memstream(&shown, &size);

	if (out) {
		fprintf(out, "%*s", (int)indent, "");
		wrap_styled(out, (int)indent, (int)indent + 4, t->at ? t->at : "", &screen->spans);
		fclose(out);
	}
	text_cut(t, 0);
	screen->spans.n = 0;
	for (const char *c = shown; c && *c; c++)
		lines += *c == '\n';
	if (shown && lines + screen->kept <= screen->left) {
		fputs(shown, screen->report->out);
		screen->left -= lines;
	} else {
		lines = 0;
	}
	free(shown);
	return lines;
}

static void put_styled(struct text *t, struct screen *screen, enum style style, const char *words)
{
	size_t from = t->used;

	text_addf(t, "%s", words);
	wrap_mark(&screen->spans, from, t->used, style);
}

/* Line 1 */

static void put_part(struct text *t, uint64_t n, const char *one, const char *more)
{
	if (n)
		text_addf(t, "%s%" PRIu64 " %s", t->used ? ", " : "", n, n == 1 ? one : more);
}

static void put_parts(struct text *t, const struct findings *findings)
{
	const struct facts *facts = findings->facts;
	uint64_t hazards = findings_count(findings, 'H'), vain;

	put_part(t, facts_count(facts, FACT_FAILED), "verb failed", "verbs failed");
	put_part(t, facts_count(facts, FACT_HUNG), "call never returned", "calls never returned");
	put_part(t, facts_count(facts, FACT_ERROR), "queue pair in error", "queue pairs in error");
	put_part(t, facts_count(facts, FACT_KILLED), "process killed", "processes killed");
	put_part(t, facts_count(facts, FACT_FATAL), "fatal event", "fatal events");
	put_part(t, facts_count(facts, FACT_EXITED), "process exited with an error",
		 "processes exited with errors");
	vain = facts_count(facts, FACT_WAITED);
	put_part(t, findings_count(findings, 'E'), "error", "errors");
	put_part(t, findings_count(findings, 'W'), "warning", "warnings");
	if (!t->used && !(hazards && check_is_failure(findings, 'H')))
		text_addf(t, "nothing failed");
	put_part(t, vain, "process waited in vain", "processes waited in vain");
	put_part(t, hazards, "hazard", "hazards");
}

static void put_verdict(struct text *t, const struct findings *findings)
{
	struct text parts = { 0 };

	put_parts(&parts, findings);
	if (!findings->facts->verbs)
		text_addf(t, "EMPTY: no verb was recorded");
	else
		text_addf(t, "%s%s", check_is_bad(findings) ? "BAD: " : "",
			  parts.at ? parts.at : "");
	text_fini(&parts);
}

static enum style style_of_verdict(const struct findings *findings)
{
	if (check_is_bad(findings))
		return STYLE_ERROR;
	if (!findings->facts->verbs)
		return STYLE_WARNING;
	return findings_count(findings, 'H') ? STYLE_HAZARD : STYLE_GOOD;
}

/* When the last verb was called, or the last process ended. */
static int64_t find_end(const struct report *report)
{
	int64_t end = report->findings->facts->last;

	for (uint32_t id = 1; trace_process(report->trace, id); id++)
		if (trace_process(report->trace, id)->end > end)
			end = trace_process(report->trace, id)->end;
	return end;
}

/* In the same line, if it fits. */
static void print_verdict(struct screen *screen, struct text *t)
{
	struct text verdict = { 0 };
	size_t at = t->used < COLUMN ? COLUMN : t->used;
	enum style style = style_of_verdict(screen->report->findings);

	put_verdict(&verdict, screen->report->findings);
	if (at + verdict.used <= (size_t)wrap_columns()) {
		while (t->used < COLUMN && !t->failed)
			text_char(t, ' ');
		text_addf(t, "%s", verdict.at ? verdict.at : "");
		wrap_mark(&screen->spans, at, t->used, style);
		emit_text(screen, 0, t);
	} else {
		emit_text(screen, 0, t);
		wrap_mark(&screen->spans, 0, verdict.used, style);
		emit_text(screen, 2, &verdict);
	}
	text_fini(&verdict);
}

static void print_top(struct screen *screen)
{
	const struct report *report = screen->report;
	struct text t = { 0 }, sizes = { 0 };
	uint32_t processes = 0;
	char when[32];

	while (trace_process(report->trace, processes + 1))
		processes++;
	put_part(&sizes, processes, "process", "processes");
	text_addf(&sizes, "%s%s", sizes.used ? ", " : "", judge_span(find_end(report), when));
	put_part(&sizes, trace_events(report->trace), "event", "events");
	text_addf(&t, "%s: %s, %" PRIu64 " lost  ", report->path, sizes.at ? sizes.at : "",
		  trace_loss(report->trace).events);
	print_verdict(screen, &t);
	text_fini(&sizes);
	text_fini(&t);
}

/* Several traces: their clocks */

static void print_clocks(struct screen *screen)
{
	size_t n = trace_nmerged(screen->report->trace) ?: trace_nparts(screen->report->trace);
	struct text t = { 0 };

	for (size_t i = 1; i < n && i <= CLOCKS_SHOWN; i++) {
		clock_text_add(&t, screen->report->trace, i);
		emit_text(screen, 2, &t);
	}
	if (n > CLOCKS_SHOWN + 1) {
		text_addf(&t, "and %zu more traces", n - CLOCKS_SHOWN - 1);
		emit_text(screen, 2, &t);
	}
	text_fini(&t);
}

/* Facts */

/* "   send_post < to_rts (app.c:20)", of a row of places_add() */
static void put_place(struct text *t, struct screen *screen, uint32_t list, uint32_t stack)
{
	const char *place = places_text(screen->places, list, stack);
	size_t from = t->used;

	if (!place)
		return;
	text_addf(t, "   %s", place);
	wrap_mark(&screen->spans, from, t->used, STYLE_DIM);
}

/* The same for facts and findings of one @kind whose lines would have the same place. */
static uint64_t line_key(const struct report *report, uint64_t kind, uint32_t stack)
{
	char line[TEXT];

	if (*place_line(report, stack, line, sizeof(line)))
		return fact_key(kind, hash_of(line, strlen(line), 0), 0);
	return fact_key(kind, stack, 1);
}

static void put_times(struct text *t, uint64_t times, size_t processes)
{
	if (times > 1)
		text_addf(t, "   %" PRIu64 " times", times);
	if (processes > 1)
		text_addf(t, "%s in %zu processes", times > 1 ? "" : "  ", processes);
}

/* Has a rule a finding for that event? Then it gives the reason. */
static bool is_found(const struct report *report, struct event_id id)
{
	const struct findings *findings = report->findings;

	for (size_t i = 0; i < findings->n; i++)
		if (findings->all[i]->event.thread == id.thread &&
		    findings->all[i]->event.n == id.n)
			return true;
	return false;
}

/*
 * If the trace does not show the cause: the only remaining one, or the first few of several.
 */
static void put_likely(struct text *t, const struct explanation *explanation, unsigned int excluded)
{
	const char *line = explanation && explanation->causes ? explanation->causes : "";
	unsigned int n = 0;
	size_t length;

	for (; *line && n < CAUSES_SHOWN; line += length + !!line[length]) {
		const char *cause = explain_cause(line, excluded, &length);

		length = strcspn(line, "\n");
		if (!cause)
			continue;
		text_addf(t, "%s%.*s", n ? "; or " : ": possibly ", (int)(line + length - cause),
			  cause);
		n++;
	}
}

static bool print_fact(struct screen *screen, struct text *t, const struct fact *fact,
		       const struct group *group)
{
	const struct report *report = screen->report;
	char id[32];

	if (fact->event.thread)
		text_addf(t, "%s  ", event_id_text(fact->event, id));
	sentence_fact(t, report->trace, fact);
	if (fact->kind == FACT_FAILED && !fact->because && !is_found(report, fact->event) &&
	    explain_has_own(fact->verb, fact->error))
		put_likely(t, explain_errno(fact->verb, fact->error), 0);
	put_place(t, screen, fact->kind, fact->stack);
	put_times(t, group->count, group->nprocesses);
	if (!emit_text(screen, 2, t))
		return false;
	if (fact->kind != FACT_FAILED && fact->because) {
		text_addf(t, "%s", fact->because);
		emit_text(screen, 4, t);
	}
	return true;
}

static void print_title(struct screen *screen, struct text *t, enum fact_kind kind)
{
	const struct facts *facts = screen->report->findings->facts;

	text_addf(t, "%s (%" PRIu64 ")%s", fact_infos[kind].title, facts_count(facts, kind),
		  facts->off[kind] ? ", muted" : "");
	wrap_mark(&screen->spans, 0, t->used, STYLE_HEAD);
	emit_text(screen, 0, t);
}

static void print_more(struct screen *screen, struct text *t, uint64_t n, const char *what)
{
	if (!n)
		return;
	text_addf(t, "and %" PRIu64 " more %s", n, what);
	emit_text(screen, 2, t);
}

/* The facts of one place that are alike. */
static void group_facts(const struct report *report, enum fact_kind kind, struct groups *groups)
{
	const struct fact_list *list = &report->findings->facts->list;

	for (size_t i = 0; i < list->n; i++) {
		const struct fact *fact = &list->all[i];
		uint64_t key;

		if (fact->kind != kind || !fact->count)
			continue;
		key = line_key(report,
			       fact_key((uint64_t)fact->verb << 32 | (uint32_t)fact->error,
					fact->alike, 0),
			       fact->stack);
		if (kind == FACT_KILLED || kind == FACT_EXITED || kind >= FACT_WAITED)
			key = i;
		for (size_t k = 0; k < fact->nin; k++)
			groups_add(groups, key, i, fact->in[k], k ? 0 : fact->count);
	}
}

static void print_facts(struct screen *screen, enum fact_kind kind)
{
	const struct fact_list *list = &screen->report->findings->facts->list;
	struct groups groups = { 0 };
	size_t shown = 0;
	struct text t = { 0 };

	print_title(screen, &t, kind);
	group_facts(screen->report, kind, &groups);
	for (size_t i = 0; i < groups.n && i < FACTS_SHOWN; i++)
		places_add(screen->places, kind, list->all[groups.all[i].first].stack);
	for (; shown < groups.n && shown < FACTS_SHOWN; shown++) {
		const struct group *group = &groups.all[shown];

		if (!print_fact(screen, &t, &list->all[group->first], group))
			break;
	}
	print_more(screen, &t, groups.n - shown, "elsewhere");
	groups_fini(&groups);
	text_fini(&t);
}

/* Completions in error */

/* What a request with @opcode is, in the words of explain.h. */
static unsigned int limits_of(int opcode)
{
	switch (opcode) {
	case -1:
		return EXPLAIN_RECEIVE;
	case ABI_WR_RDMA_WRITE:
		return EXPLAIN_WRITE;
	case ABI_WR_RDMA_WRITE_WITH_IMM:
		return EXPLAIN_WRITE | EXPLAIN_SEND;
	case ABI_WR_RDMA_READ:
		return EXPLAIN_READ;
	case ABI_WR_ATOMIC_CMP_AND_SWP:
	case ABI_WR_ATOMIC_FETCH_AND_ADD:
		return EXPLAIN_ATOMIC;
	default:
		return EXPLAIN_SEND;
	}
}

/* What the trace knows not to be so. */
static unsigned int find_excluded(const struct first_error *error, const struct cause *cause)
{
	const unsigned int requests =
		EXPLAIN_RECEIVE | EXPLAIN_SEND | EXPLAIN_WRITE | EXPLAIN_READ | EXPLAIN_ATOMIC;
	unsigned int excluded = 0;

	if (error->request.id.thread && error->candidates <= 1)
		excluded |=
			requests & ~limits_of(error->request.is_recv ? -1 : error->request.opcode);
	if (cause && !cause->datagrams)
		excluded |= EXPLAIN_UD;
	if (cause && !cause->xrc)
		excluded |= EXPLAIN_XRC;
	if (cause && cause->worked)
		excluded |= EXPLAIN_FIRST;
	return excluded;
}

/* The remaining causes, if the trace shows none. */
static void print_likely(struct screen *screen, struct text *t, const struct first_error *error,
			 const struct cause *cause)
{
	const struct explanation *explanation = explain_status(error->status);

	if (!explanation)
		return;
	text_addf(t, "%s", explanation->side ? explanation->side : "cause");
	put_likely(t, explanation, find_excluded(error, cause));
	emit_text(screen, 4, t);
}

/* The cause, as far as the keys and the other end show it. */
static void print_cause(struct screen *screen, struct text *t, const struct cause *cause)
{
	if (cause->port) {
		text_addf(t, "%s", cause->port);
		emit_text(screen, 4, t);
	}
	if (cause->key) {
		text_addf(t, "%s", cause->key);
		emit_text(screen, 4, t);
	}
	if (cause->peer) {
		text_addf(t, "peer: %s", cause->peer);
		emit_text(screen, 4, t);
	}
}

static void print_error(struct screen *screen, struct text *t, const struct group *group)
{
	const struct report *report = screen->report;
	const struct facts *facts = report->findings->facts;
	const struct first_error *error = &facts->errors.all[group->first];
	const struct cause *cause = facts_cause(facts, error);
	char id[32], when[32], status[32];

	text_addf(t, "%s  %s  ", event_id_text(error->event, id), judge_span(error->time, when));
	put_styled(t, screen, STYLE_ERROR, report_status(error->status, status));
	text_addf(t, "  ");
	if (group->count > 1)
		text_addf(t, "%" PRIu64 " queue pairs of ", group->count);
	if (group->nprocesses > 1)
		text_addf(t, "%zu processes, the first of ", group->nprocesses);
	sentence_process(t, report->trace, error->process);
	text_addf(t, "%s %s", group->count > 1 ? ", each like" : "", report_qp(error));
	if (cause && cause->name)
		text_addf(t, " -> %s", cause->name);
	if (!emit_text(screen, 2, t))
		return;
	sentence_request(t, error, cause);
	put_place(t, screen, FACT_ERROR, error->request.stack);
	if (group->flushes)
		text_addf(t, "   %" PRIu64 " flushed after %s", group->flushes,
			  group->count > 1 ? "them" : "it");
	emit_text(screen, 4, t);
	if (cause && (cause->port || cause->key || cause->peer))
		print_cause(screen, t, cause);
	else if (!is_found(report, error->event) && !is_found(report, error->request.id))
		print_likely(screen, t, error, cause);
}

static void print_errors(struct screen *screen)
{
	const struct facts *facts = screen->report->findings->facts;
	const struct groups *groups = &screen->errors;
	struct text t = { 0 };
	size_t shown = 0;

	print_title(screen, &t, FACT_ERROR);
	for (size_t i = 0; i < groups->n && i < ERRORS_SHOWN; i++)
		places_add(screen->places, FACT_ERROR,
			   facts->errors.all[groups->all[i].first].request.stack);
	for (; shown < groups->n && shown < ERRORS_SHOWN; shown++)
		print_error(screen, &t, &groups->all[shown]);
	print_more(screen, &t, groups->n - shown, "with other causes");
	text_fini(&t);
}

/* In one line: the kinds of facts without any. */
static void print_none(struct screen *screen)
{
	const struct findings *findings = screen->report->findings;
	struct text t = { 0 };

	for (int kind = 0; kind < FACT_COUNT; kind++) {
		if (facts_count(findings->facts, (enum fact_kind)kind) || kind == FACT_EXITED ||
		    kind == FACT_WAITED || kind == FACT_PAUSED)
			continue;
		text_addf(&t, "%s%s (0%s)", t.used ? "   " : "", fact_infos[kind].title,
			  kind == FACT_ERROR && findings->blind ? " recorded, others may be "
								  "missing"
								: "");
	}
	if (t.used)
		emit_text(screen, 0, &t);
	text_fini(&t);
}

/* Findings */

static void put_rules(struct text *t, const struct findings *findings)
{
	unsigned int checked = 0, muted = 0;

	for (int i = 0; i < RULE_COUNT; i++) {
		muted += findings->off[i];
		checked += findings_checked(findings, (enum rule_id)i);
	}
	text_addf(t, "; %u of %d rules", checked, RULE_COUNT);
	if (muted)
		text_addf(t, ", %u muted", muted);
}

/* The findings that the user has accepted. */
static void put_known(struct text *t, const struct report *report)
{
	struct report copy = *report;
	char *known = NULL;
	size_t size = 0;

	copy.out = open_memstream(&known, &size);
	if (!copy.out)
		return;
	known_print_sum(&copy);
	fclose(copy.out);
	if (known)
		text_addf(t, "%s", known);
	free(known);
}

static void print_sums(struct screen *screen)
{
	const struct findings *findings = screen->report->findings;
	struct text t = { 0 }, sums = { 0 };

	put_part(&sums, findings_count(findings, 'E'), "error", "errors");
	put_part(&sums, findings_count(findings, 'W'), "warning", "warnings");
	put_part(&sums, findings_count(findings, 'H'), "hazard", "hazards");
	put_part(&sums, findings_count(findings, 'P'), "on performance", "on performance");
	put_part(&sums, findings_count(findings, 'I'), "information", "informations");
	text_addf(&t, "findings (%s", sums.used ? sums.at : "0");
	put_rules(&t, findings);
	put_known(&t, screen->report);
	text_addf(&t, ")");
	wrap_mark(&screen->spans, 0, t.used, STYLE_HEAD);
	emit_text(screen, 0, &t);
	text_fini(&sums);
	text_fini(&t);
}

/* The first sentence of the advice. */
static void put_advice(struct text *t, enum rule_id rule)
{
	const char *advice = rules[rule].advice;
	const char *end = strstr(advice, ". ");

	text_addf(t, "to do: %.*s", end ? (int)(end - advice) + 1 : (int)strlen(advice), advice);
}

/* The place of the finding's event, which is the last step of most. */
static uint32_t find_place(const struct finding *finding)
{
	uint32_t stack = 0;

	for (unsigned int i = 0; i < finding->nsteps; i++) {
		const struct moment *moment = &finding->steps[i].moment;

		stack = moment->stack;
		if (moment->id.thread == finding->event.thread && moment->id.n == finding->event.n)
			break;
	}
	return stack;
}

/* "H QUEUE-004 unsignaled-run  1:67  53.8 ms   put_record+0x79" */
static void put_finding(struct text *t, struct screen *screen, const struct group *group)
{
	const struct finding *finding = screen->report->findings->all[group->first];
	const struct rule *rule = &rules[finding->rule];
	char id[32], when[32];

	text_addf(t, "%c %s %s", finding_severity(finding), rule->id, rule->name);
	wrap_mark(&screen->spans, 0, t->used, style_of_severity(finding_severity(finding)));
	text_addf(t, "  %s  %s", event_id_text(finding->event, id),
		  judge_span(finding->time, when));
	put_place(t, screen, FINDINGS, find_place(finding));
	put_times(t, finding->site->group ? 1 : group->count, group->nprocesses);
}

/*
 * If there are many hazards, each has one line; the first of those that break alike also has the
 * condition. What happened is below the screen.
 */
static bool print_hazard(struct screen *screen, struct text *t, const struct group *group,
			 const char **breaks)
{
	const struct finding *finding = screen->report->findings->all[group->first];

	put_finding(t, screen, group);
	if (finding->breaks && (!*breaks || strcmp(*breaks, finding->breaks) != 0))
		text_addf(t, "   breaks when %s", finding->breaks);
	*breaks = finding->breaks;
	return emit_text(screen, 2, t);
}

static bool print_finding(struct screen *screen, struct text *t, const struct group *group,
			  bool *told)
{
	const struct report *report = screen->report;
	const struct finding *finding = report->findings->all[group->first];

	put_finding(t, screen, group);
	if (!emit_text(screen, 2, t))
		return false;
	sentence_finding(t, finding);
	emit_text(screen, 4, t);
	if (!told[finding->rule] && !finding->site->hazard) {
		put_advice(t, finding->rule);
		emit_text(screen, 4, t);
		told[finding->rule] = true;
	}
	return true;
}

/* States, flags and statuses that its sentence names. */
static uint64_t hash_named(const struct finding *finding)
{
	const char *at = finding->says;
	uint64_t hash = 0;

	while (at && (at = strstr(at, "IBV_"))) {
		size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

		hash = hash_of(at, n, hash);
		at += n;
	}
	return hash;
}

/* The findings of one rule and place, of the same states and flags, by severity. */
static void group_findings(const struct report *report, struct groups *groups)
{
	const struct findings *findings = report->findings;

	for (const char *severity = "EWHPI"; *severity; severity++)
		for (size_t i = 0; i < findings->n; i++) {
			const struct finding *finding = findings->all[i];
			uint64_t key;

			if (finding_severity(finding) != *severity || finding->known != FINDING_NEW)
				continue;
			key = line_key(
				report,
				fact_key((uint64_t)finding->rule << 1 | finding->site->hazard,
					 hash_named(finding), 0),
				find_place(finding));
			groups_add(groups, key, i, finding->process, finding_times(finding));
			for (size_t k = 0; k < finding->nalso; k++)
				groups_add(groups, key, i, finding->also[k], 0);
		}
}

/* The number of groups from @first on that are hazards. */
static size_t count_hazards(const struct report *report, const struct groups *groups, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < groups->n; i++)
		n += report->findings->all[groups->all[i].first]->site->hazard;
	return n;
}

static void print_groups(struct screen *screen, struct text *t, const struct groups *groups)
{
	const struct report *report = screen->report;
	bool told[RULE_COUNT] = { false };
	const char *breaks = NULL;
	bool brief = false;
	size_t shown = 0;

	for (; shown < groups->n; shown++) {
		const struct group *group = &groups->all[shown];
		bool hazard = report->findings->all[group->first]->site->hazard;

		if (hazard && !brief)
			brief = count_hazards(report, groups, shown) * HAZARD_LINES > screen->left;
		if (!(hazard && brief ? print_hazard(screen, t, group, &breaks)
				      : print_finding(screen, t, group, told)))
			break;
	}
	screen->kept = 0;
	print_more(screen, t, groups->n - shown, "below");
}

static void print_findings(struct screen *screen)
{
	struct finding *const *findings = screen->report->findings->all;
	struct groups groups = { 0 };
	struct text t = { 0 };

	print_sums(screen);
	group_findings(screen->report, &groups);
	for (size_t i = 0; i < groups.n; i++)
		places_add(screen->places, FINDINGS, find_place(findings[groups.all[i].first]));
	print_groups(screen, &t, &groups);
	groups_fini(&groups);
	text_fini(&t);
}

static void print_screen(struct screen *screen)
{
	const struct facts *facts = screen->report->findings->facts;

	print_top(screen);
	print_clocks(screen);
	screen->kept =
		1 + (screen->report->findings->n ? 5 : 1); /* the kinds without any; findings */
	for (int kind = 0; kind < FACT_COUNT; kind++) {
		if (!facts_count(facts, (enum fact_kind)kind) || kind == FACT_PAUSED)
			continue;
		if (kind == FACT_ERROR)
			print_errors(screen);
		else
			print_facts(screen, (enum fact_kind)kind);
	}
	screen->kept = 1;
	print_none(screen);
	print_findings(screen);
	if (facts_count(facts, FACT_PAUSED))
		print_facts(screen, FACT_PAUSED); /* no failure: behind all others */
}

int report_screen(const struct report *report)
{
	struct screen screen = { .report = report, .left = SCREEN };
	int err = groups_of_errors(report->trace, &report->findings->facts->errors, &screen.errors);

	screen.places = places_new(report->trace, report->symbols);
	if (!err)
		print_screen(&screen);
	places_free(screen.places);
	groups_fini(&screen.errors);
	return err;
}

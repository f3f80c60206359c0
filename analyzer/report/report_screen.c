/*
 * The first screen: what went wrong first, where, and what to change
 *
 * 	t.db: 2 processes, 2.06 s, 107 events, 0 lost               BAD: 1 verb failed, 1 error
 * 	failed verbs (1)
 * 	  1:39  ibv_modify_qp(qp1 -> RTS) = EINVAL: lacks IBV_QP_RNR_RETRY   to_rts (app.c:20)
 * 	hung calls (0)   queue pairs in error (0)   killed (0)   fatal events (0)
 * 	findings (1 error of 58 rules)
 * 	  E LIFE-001 use-after-destroy   1:45   acknowledge_events (app.c:55)
 * 	    what happened
 * 	    to do: what to change
 *
 * At most SCREEN lines. Entries that do not fit are counted; they are below, or in the JSON report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/clock_text.h"
#include "analyzer/check.h"
#include "analyzer/explain/explain.h"
#include "analyzer/facts/stalls.h"
#include "analyzer/model/abi.h"
#include "analyzer/model/words.h"
#include "analyzer/report/screen.h"
#include "analyzer/report/sentence.h"
#include "analyzer/report/wrap.h"
#include "analyzer/rules/evidence.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/count.h"
#include "core/base/span.h"
#include "core/base/text.h"
#include "core/store/read/coverage.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"

enum {
	SCREEN = 24,
	COLUMN = 60,
	FACTS_SHOWN = 4,
	ERRORS_SHOWN = 3,
	FAULTS_SHOWN = 4,
	CLOCKS_SHOWN = 3,
	CAUSES_SHOWN = 3,
};

/* Line 1 */

static void put_parts(struct text *t, const struct report *report)
{
	const struct findings *findings = report->findings;
	const struct facts *facts = findings->facts;
	uint64_t hazards = findings_count(findings, 'H'), vain;

	screen_put_part(t, facts_count(facts, FACT_FAILED), "verb failed", "verbs failed");
	screen_put_part(t, facts_count(facts, FACT_HUNG), "hung call", "hung calls");
	screen_put_part(t, facts_count(facts, FACT_ERROR), "queue pair in error",
			"queue pairs in error");
	screen_put_part(t, facts_count(facts, FACT_KILLED), "process killed", "processes killed");
	screen_put_part(t, facts_count(facts, FACT_FATAL), "fatal event", "fatal events");
	screen_put_part(t, facts_count(facts, FACT_EXITED), "process exited with an error",
			"processes exited with errors");
	vain = facts_count(facts, FACT_WAITED);
	screen_put_part(t, findings_count(findings, 'E'), "error", "errors");
	screen_put_part(t, findings_count(findings, 'W'), "warning", "warnings");
	if (screen_has_waits(report))
		screen_put_part(t, facts_stalls(facts)->waiting, "process stuck",
				"processes stuck");
	if (!t->used && !(hazards && check_is_failure(findings, 'H')))
		text_addf(t, "nothing failed");
	screen_put_part(t, vain, "process waited in vain", "processes waited in vain");
	screen_put_part(t, hazards, "hazard", "hazards");
}

static void put_verdict(struct text *t, const struct report *report)
{
	const struct findings *findings = report->findings;
	struct text parts = { 0 };

	put_parts(&parts, report);
	if (!findings->facts->sums.verbs)
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
	if (!findings->facts->sums.verbs)
		return STYLE_WARNING;
	return findings_count(findings, 'H') ? STYLE_HAZARD : STYLE_GOOD;
}

/* Print the verdict, in the same line if it fits. */
static void print_verdict(struct screen *screen, struct text *t)
{
	struct text verdict = { 0 };
	size_t at = t->used < COLUMN ? COLUMN : t->used;
	enum style style = style_of_verdict(screen->report->findings);

	put_verdict(&verdict, screen->report);
	if (at + verdict.used <= (size_t)wrap_columns()) {
		while (t->used < COLUMN && !t->failed)
			text_char(t, ' ');
		text_addf(t, "%s", verdict.at ? verdict.at : "");
		wrap_mark(&screen->spans, at, t->used, style);
		screen_print_wrapped(screen, 0, t);
	} else {
		screen_print_wrapped(screen, 0, t);
		wrap_mark(&screen->spans, 0, verdict.used, style);
		screen_print_wrapped(screen, 2, &verdict);
	}
	text_fini(&verdict);
}

static void print_top(struct screen *screen)
{
	const struct report *report = screen->report;
	const struct totals totals = trace_totals(report->trace);
	struct text t = { 0 }, sizes = { 0 };
	char span[SPAN_TEXT];

	screen_put_part(&sizes, totals.processes, "process", "processes");
	text_addf(&sizes, "%s%s", sizes.used ? ", " : "", span_text(totals.duration, span));
	screen_put_part(&sizes, totals.events, "event", "events");
	screen_put_part(&sizes, totals.overwritten, "overwritten", "overwritten");
	text_addf(&t, "%s: %s, %s lost  ", report->path, sizes.at ? sizes.at : "",
		  count_text(totals.lost, span));
	print_verdict(screen, &t);
	text_fini(&sizes);
	text_fini(&t);
}

/* Several traces: their clocks */

static void print_clock(void *arg, struct text *sentence, enum clock_source source)
{
	(void)source;
	screen_print_wrapped(arg, 2, sentence);
}

/* Facts */

/* Does a rule have a finding for the event? Then the finding gives the reason. */
static bool has_finding_at(const struct report *report, struct event_id id)
{
	const struct findings *findings = report->findings;

	for (size_t i = 0; i < findings->n; i++)
		if (findings->all[i]->event.thread == id.thread &&
		    findings->all[i]->event.n == id.n)
			return true;
	return false;
}

/*
 * If the trace does not show the cause: add the first few of the causes that remain possible.
 */
static void put_likely_causes(struct text *t, const struct explanation *explanation,
			      unsigned int excluded)
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
	sentence_put_fact(t, report->trace, fact);
	if (fact->kind == FACT_FAILED && !fact->because && !has_finding_at(report, fact->event) &&
	    explain_has_own(fact->verb, fact->error))
		put_likely_causes(t, explain_errno(fact->verb, fact->error), 0);
	screen_put_place(t, screen, fact->kind, fact->stack);
	screen_put_times(t, group->count, group->nprocesses);
	if (!screen_print_wrapped(screen, 2, t))
		return false;
	if (fact->kind != FACT_FAILED && fact->because) {
		text_addf(t, "%s", fact->because);
		screen_print_wrapped(screen, 4, t);
	}
	return true;
}

static void print_title(struct screen *screen, struct text *t, enum fact_kind kind)
{
	const struct facts *facts = screen->report->findings->facts;

	text_addf(t, "%s (%" PRIu64 ")%s", fact_infos[kind].title, facts_count(facts, kind),
		  facts->off[kind] ? ", muted" : "");
	wrap_mark(&screen->spans, 0, t->used, STYLE_HEAD);
	screen_print_wrapped(screen, 0, t);
}

/* Similar facts of one place. */
static void group_facts(const struct report *report, enum fact_kind kind, struct groups *groups)
{
	const struct fact_list *list = &report->findings->facts->list;

	for (size_t i = 0; i < list->n; i++) {
		const struct fact *fact = &list->all[i];
		uint64_t key;

		if (fact->kind != kind || !fact->count)
			continue;
		key = screen_line_key(report,
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
	if (kind == FACT_KILLED && screen_has_waits(screen->report)) {
		screen_print_killed(screen);
		text_fini(&t);
		return;
	}
	group_facts(screen->report, kind, &groups);
	for (size_t i = 0; i < groups.n && i < FACTS_SHOWN; i++)
		places_add(screen->places, kind, list->all[groups.all[i].first].stack);
	for (; shown < groups.n && shown < FACTS_SHOWN; shown++) {
		const struct group *group = &groups.all[shown];

		if (!print_fact(screen, &t, &list->all[group->first], group))
			break;
	}
	screen_print_more(screen, &t, groups.n - shown, "elsewhere");
	groups_fini(&groups);
	text_fini(&t);
}

/* Completions in error */

/* The EXPLAIN_ limits (explain.h) that apply to a request with @opcode. */
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
	case ABI_WR_BIND_MW:
		return EXPLAIN_BIND;
	case ABI_WR_LOCAL_INV:
		return EXPLAIN_INVALIDATE;
	default:
		return EXPLAIN_SEND;
	}
}

/* The limits that certainly do not apply, given the trace. */
static unsigned int find_excluded(const struct first_error *error, const struct cause *cause)
{
	const unsigned int requests = EXPLAIN_RECEIVE | EXPLAIN_SEND | EXPLAIN_WRITE |
				      EXPLAIN_READ | EXPLAIN_ATOMIC | EXPLAIN_BIND |
				      EXPLAIN_INVALIDATE;
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
static void print_likely_causes(struct screen *screen, struct text *t,
				const struct first_error *error, const struct cause *cause)
{
	const struct explanation *explanation = explain_status(error->status);

	if (!explanation)
		return;
	text_addf(t, "%s", explanation->side ? explanation->side : "cause");
	put_likely_causes(t, explanation, find_excluded(error, cause));
	screen_print_wrapped(screen, 4, t);
}

/* The cause, if the keys or the peer show it. */
static void print_cause(struct screen *screen, struct text *t, const struct cause *cause)
{
	if (cause->port) {
		text_addf(t, "%s", cause->port);
		screen_print_wrapped(screen, 4, t);
	}
	if (cause->key) {
		text_addf(t, "%s", cause->key);
		screen_print_wrapped(screen, 4, t);
	}
	if (cause->peer) {
		text_addf(t, "peer: %s", cause->peer);
		screen_print_wrapped(screen, 4, t);
	}
}

static void print_injected(struct screen *screen, struct text *t, const struct first_error *error)
{
	text_addf(t, "a fault injected by the recorder: %s",
		  trace_made_fault(screen->report->trace, error->request.id));
	screen_print_wrapped(screen, 4, t);
}

static void print_error(struct screen *screen, struct text *t, const struct group *group)
{
	const struct report *report = screen->report;
	const struct facts *facts = report->findings->facts;
	const struct first_error *error = &facts->errors.all[group->first];
	const struct cause *cause = facts_cause(facts, error);
	char id[32], when[32], status[32];

	text_addf(t, "%s  %s  ", event_id_text(error->event, id),
		  words_format_span(error->time, when));
	screen_put_styled(t, screen, STYLE_ERROR, report_status(error->status, status));
	text_addf(t, "  ");
	if (group->count > 1)
		text_addf(t, "%" PRIu64 " queue pairs of ", group->count);
	if (group->nprocesses > 1)
		text_addf(t, "%zu processes, the first of ", group->nprocesses);
	sentence_process(t, report->trace, error->process);
	text_addf(t, "%s %s", group->count > 1 ? ", each like" : "", report_qp(error));
	if (cause && cause->name)
		text_addf(t, " -> %s", cause->name);
	if (!screen_print_wrapped(screen, 2, t))
		return;
	sentence_request(t, error, cause);
	screen_put_place(t, screen, FACT_ERROR, error->request.stack);
	if (group->flushes)
		text_addf(t, "   %" PRIu64 " flushed after %s", group->flushes,
			  group->count > 1 ? "them" : "it");
	screen_print_wrapped(screen, 4, t);
	if (trace_made_fault(report->trace, error->request.id))
		print_injected(screen, t, error);
	else if (cause && (cause->port || cause->key || cause->peer))
		print_cause(screen, t, cause);
	else if (!has_finding_at(report, error->event) &&
		 !has_finding_at(report, error->request.id))
		print_likely_causes(screen, t, error, cause);
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
	screen_print_more(screen, &t, groups->n - shown, "with other causes");
	text_fini(&t);
}

/* Print, in one line, the kinds of facts that the trace does not have. */
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
		screen_print_wrapped(screen, 0, &t);
	text_fini(&t);
}

/* Failures may be consequences of faults: faults come first. */
static void print_faults(struct screen *screen)
{
	const struct trace *trace = screen->report->trace;
	struct text t = { 0 };
	size_t n = trace_count_faults(trace);
	struct event_id event;
	const char *fault;
	char id[32];

	if (!n)
		return;
	text_addf(&t, "faults injected by the recorder (%zu)", n);
	screen_print_wrapped(screen, 0, &t);
	for (size_t i = 0; i < n && i < FAULTS_SHOWN; i++) {
		fault = trace_nth_fault(trace, i, &event);
		text_addf(&t, "%s  %s", event_id_text(event, id), fault);
		screen_print_wrapped(screen, 2, &t);
	}
	screen_print_more(screen, &t, n > FAULTS_SHOWN ? n - FAULTS_SHOWN : 0, "made");
	text_fini(&t);
}

/* Functions that gave the program direct access to hardware queues. */
struct bypass {
	char first[64];
	uint64_t calls;
	unsigned int functions;
};

static void add_bypass(void *arg, const struct coverage_sum *sum)
{
	struct bypass *bypass = arg;

	if (!sum->function || strcmp(sum->what, "direct") || !evidence_is_bypassed(sum->function))
		return;
	if (!bypass->functions++)
		snprintf(bypass->first, sizeof(bypass->first), "%s", sum->function);
	bypass->calls += sum->times;
}

/*
 * The bypassed queues are printed first: otherwise "nothing failed" would be read as a statement
 * about all queue pairs.
 */
static void print_bypass(struct screen *screen)
{
	struct trace *trace = screen->report->trace;
	struct bypass bypass = { 0 };
	struct text t = { 0 };
	char count[WORDS_COUNT];

	for (size_t i = 0; i < trace_nparts(trace); i++)
		coverage_visit_sums(trace_part(trace, i), add_bypass, &bypass);
	if (!bypass.functions)
		return;
	text_addf(&t, "NOT RECORDED: posts and polls that bypassed the verbs (");
	text_printable(&t, bypass.first);
	text_addf(&t, "()%s, %s)", bypass.functions > 1 ? " and others" : "",
		  words_format_count(bypass.calls, "call", count));
	wrap_mark(&screen->spans, 0, t.used, STYLE_WARNING);
	screen_print_wrapped(screen, 0, &t);
	text_addf(&t, "to record: " EVIDENCE_SETTINGS);
	screen_print_wrapped(screen, 2, &t);
	text_fini(&t);
}

static void print_screen(struct screen *screen)
{
	const struct facts *facts = screen->report->findings->facts;

	print_top(screen);
	print_bypass(screen);
	print_faults(screen);
	clock_text_visit(screen->report->trace, CLOCKS_SHOWN, print_clock, screen);
	screen->kept =
		/* a line for the kinds without facts; the findings */
		1 + (screen->report->findings->n ? 5 : 1);
	if (screen_has_waits(screen->report))
		screen_print_waits(screen);
	screen_print_late(screen);
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
	screen_print_findings(screen);
	if (facts_count(facts, FACT_PAUSED))
		print_facts(screen, FACT_PAUSED); /* not a failure: after all others */
}

int report_screen(const struct report *report)
{
	struct screen screen = { .report = report, .left = SCREEN };
	int err =
		groups_add_errors(report->trace, &report->findings->facts->errors, &screen.errors);

	screen.places = places_new(report->trace, report->symbols);
	if (!err)
		print_screen(&screen);
	places_free(screen.places);
	groups_fini(&screen.errors);
	return err;
}

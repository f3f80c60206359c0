/*
 * Findings for a person at a terminal
 *
 * 	first error: ...
 *
 * 	E LIFE-001 use-after-destroy  1:23  12.3 ms  process 1 (demo_bug), thread 1
 * 	  ibv_modify_qp(): qp  qp1
 * 	  sentence
 * 	    created    1:12  ibv_create_qp()
 * 	        connection_open+0x3c (app.c:40)
 * 	    ...
 * 	  to do   once per rule
 * 	  source
 */
#include <inttypes.h>
#include <string.h>

#include "analyzer/rules/add_finding.h"
#include "analyzer/model/words.h"
#include "analyzer/report/groups.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sentence.h"
#include "analyzer/report/wrap.h"
#include "core/base/printable.h"
#include "core/base/text.h"

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "?";
}

/* Print a name from the trace within our own text. */
static void print_named(FILE *out, const char *before, const char *name, const char *behind)
{
	fputs(before, out);
	print_untrusted(out, name);
	fputs(behind, out);
}

/* The name of an object or an event. */
static void print_name(FILE *out, const char *name)
{
	style_put(out, STYLE_NAME);
	print_untrusted(out, name);
	style_put(out, STYLE_PLAIN);
}

static void print_count(FILE *out, uint64_t n, const char *what)
{
	char text[WORDS_COUNT];

	fputs(words_format_count(n, what, text), out);
}

static void print_request(FILE *out, const struct first_request *request)
{
	char opcode[32];

	fprintf(out, "%s", report_opcode(request, opcode));
	if (request->nsge)
		fprintf(out, " of %s at 0x%" PRIx64 " (lkey 0x%x)%s",
			WORDS_N(request->sge.length, "byte"), request->sge.addr, request->sge.lkey,
			request->nsge > 1 ? " and more" : "");
	if (request->remote_addr || request->rkey)
		fprintf(out, ", remote 0x%" PRIx64 " (rkey 0x%x)", request->remote_addr,
			request->rkey);
}

/* Each line has its own style: a pager ends it with the line. */
static void print_frame(FILE *out, const char *text)
{
	fprintf(out, "        ");
	style_put(out, STYLE_DIM);
	print_untrusted(out, text);
	style_put(out, STYLE_PLAIN);
	fputc('\n', out);
}

static void print_stack(const struct report *report, uint32_t stack)
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report_stack(report, stack, lines);
	bool python = false;
	char text[512];

	for (unsigned int i = 0; i < n; i++) {
		print_frame(report->out, symbol_text(&lines[i].symbol, text, sizeof(text)));
		python |= symbol_is_python(&lines[i].symbol);
	}
	if (python)
		print_frame(report->out, "(frames of Python code are not recorded)");
}

static void print_posted(const struct report *report, const struct first_error *error,
			 const struct first_request *request, const char *before)
{
	char id[32], when[32];

	fprintf(report->out, "%sposted at %s wr[%u], %s earlier", before,
		event_id_text(request->id, id), request->index,
		words_format_span(error->time - request->posted_at, when));
}

/* Print the other request that may have failed: it has the same wr_id, on the other side. */
static void print_other_request(const struct report *report, const struct first_error *error)
{
	fprintf(report->out, "  or ");
	print_request(report->out, &error->other);
	print_posted(report, error, &error->other, ", ");
	fputc('\n', report->out);
	print_stack(report, error->other.stack);
}

static void print_injected_fault(const struct report *report, const struct first_error *error)
{
	const char *made = trace_made_fault(report->trace, error->request.id);

	if (made)
		fprintf(report->out, "  a fault injected by the recorder: %s\n", made);
}

void report_print_error(const struct report *report, const struct first_error *error)
{
	char id[32], when[32], status[32], process[PROCESS_TEXT];
	bool either = error->other.id.thread;
	FILE *out = report->out;

	fprintf(out, "first error: ");
	style_text(out, STYLE_ERROR, report_status(error->status, status));
	fprintf(out, " on ");
	print_name(out, report_qp(error));
	fprintf(out, " (number 0x%x) of %s at ", error->qp_num,
		process_id_text(error->process, process));
	style_text(out, STYLE_NAME, event_id_text(error->event, id));
	fprintf(out, ", %s: ", words_format_span(error->time, when));
	if (error->request.id.thread)
		print_request(out, &error->request);
	else
		fprintf(out, "its work request is unknown");
	if (error->candidates > 1u + either)
		fprintf(out, ", or another of the %u requests with its wr_id", error->candidates);
	fprintf(out, "\n  wc[%u], wr_id 0x%" PRIx64 ", vendor_err 0x%x", error->index, error->wr_id,
		error->vendor_err);
	if (error->request.id.thread)
		print_posted(report, error, &error->request, "; ");
	if (error->flushes) {
		fprintf(out, "; ");
		print_count(out, error->flushes, "completion");
		fprintf(out, " flushed after it");
	}
	fputc('\n', out);
	print_injected_fault(report, error);
	print_stack(report, error->request.stack);
	if (either)
		print_other_request(report, error);
}

static void print_step(const struct report *report, const struct finding_step *step)
{
	const struct moment *moment = &step->moment;
	char id[32], when[32];

	fprintf(report->out, "    %-15s ", step->what);
	print_name(report->out, event_id_text(moment->id, id));
	if (moment->verb != VERB_COUNT)
		fprintf(report->out, "  %s()", verb_infos[moment->verb].name);
	fprintf(report->out, "  at %s%s\n", words_format_span(moment->time, when),
		moment->stack ? "" : "  (no call stack)");
	print_stack(report, moment->stack);
}

enum {
	OTHERS_SHOWN = 16, /* processes that are listed */
	GAP_RULES = 8,     /* rules that are named with the reason why they were not checked */
};

/* "in 3 processes: 1, 2, 3" */
static void print_others(FILE *out, const struct finding *finding)
{
	bool joint = ids_find_range(0, finding->process);
	char text[PROCESS_TEXT];

	if (finding->nalso && joint)
		fprintf(out, "\n  in %zu processes: %s", finding->nalso + 1,
			process_id_text(finding->process, text));
	else if (finding->nalso)
		fprintf(out, "\n  in %zu processes: %u", finding->nalso + 1, finding->process);
	for (size_t i = 0; i < finding->nalso && i < OTHERS_SHOWN; i++)
		if (joint)
			fprintf(out, ", %s", process_id_text(finding->also[i], text));
		else
			fprintf(out, ", %u", finding->also[i]);
	if (finding->nalso > OTHERS_SHOWN)
		fprintf(out, " and %zu more", finding->nalso - OTHERS_SHOWN);
}

static void print_message(FILE *out, const struct finding *finding)
{
	struct text text = { 0 };

	sentence_put_finding(&text, finding);
	wrap_text(out, 2, 2, text.at ? text.at : "");
	text_fini(&text);
}

static void print_head(const struct report *report, const struct finding *finding)
{
	const struct process *process = trace_process(report->trace, finding->process);
	const struct thread *thread = trace_thread(report->trace, finding->thread);
	const struct rule *rule = &rules[finding->rule];
	const struct id_range *of = ids_find_range(0, finding->process);
	char id[32], when[32], text[PROCESS_TEXT];
	FILE *out = report->out;

	fputc('\n', out);
	style_put(out, style_of_severity(finding_severity(finding)));
	fprintf(out, "%c %s %s", finding_severity(finding), rule->id, rule->name);
	style_put(out, STYLE_PLAIN);
	fprintf(out, "  ");
	print_name(out, event_id_text(finding->event, id));
	fprintf(out, "  %s", words_format_span(finding->time, when));
	if (finding->process)
		fprintf(out, "  %s", process_id_text(finding->process, text));
	if (process) {
		print_named(out, " (", base_name(process->exe), "");
		fprintf(out, ", pid %d)", process->pid);
	}
	if (finding->process)
		fprintf(out, ", thread %u", finding->thread - (of ? of->threads : 0));
	if (thread && thread->comm)
		print_named(out, " (", thread->comm, ")");
	print_others(out, finding);
	print_named(out, "\n  ", finding->where, finding->object ? "   " : "");
	print_name(out, finding->object);
	fputs("\n  ", out);
	print_message(out, finding);
}

/* Once per rule, or place: repeated for each finding it would hide the differences. */
static void print_advice(const struct report *report, const struct finding *finding, bool *told)
{
	enum rule_id rule = finding->rule;

	if (finding->todo ? finding->of_site > 1 : told[rule])
		return;
	told[rule] |= !finding->todo;
	fprintf(report->out, "  to do:  ");
	wrap_text(report->out, 10, 10, finding_advice(finding));
	fprintf(report->out, "  source: ");
	wrap_styled(report->out, 10, 10, rules[rule].source,
		    &(const struct wrap_spans){ 1, { { 0, SIZE_MAX, STYLE_DIM } } });
}

void report_print_finding(const struct report *report, const struct finding *finding, bool *told)
{
	const struct finding_site *site = finding->site;
	bool last = finding->of_site == site->kept;

	print_head(report, finding);
	if (!report->full && strchr("PI", finding_severity(finding)))
		return;
	if (site->group || finding->of_site == 1)
		for (unsigned int i = 0; i < finding->nsteps; i++)
			print_step(report, &finding->steps[i]);
	else
		fprintf(report->out, "    from the same place as %s above\n",
			rules[finding->rule].id);
	if (!site->group && last && site->count > site->kept)
		fprintf(report->out, "    and %" PRIu64 " more from that place\n",
			site->count - site->kept);
	print_advice(report, finding, told);
}

static bool is_same_gap(const struct unchecked_rule *a, const struct unchecked_rule *b)
{
	return a->partly == b->partly &&
	       !strcmp(a->because ? a->because : "?", b->because ? b->because : "?");
}

/* "LIFE-001 and LIFE-002", or the number of rules; rules with the same reason share a line. */
static void print_gap_rules(const struct report *report, size_t first)
{
	const struct findings *findings = report->findings;
	unsigned int n = 0, at = 0;

	for (size_t i = first; i < findings->nunchecked; i++)
		n += is_same_gap(&findings->unchecked[first], &findings->unchecked[i]);
	if (n == 1)
		fprintf(report->out, "%s: %s", rules[findings->unchecked[first].rule].id,
			rules[findings->unchecked[first].rule].name);
	else if (n > GAP_RULES)
		fprintf(report->out, "%u rules", n);
	for (size_t i = first; n > 1 && n <= GAP_RULES && i < findings->nunchecked; i++) {
		const struct unchecked_rule *u = &findings->unchecked[i];

		if (!is_same_gap(&findings->unchecked[first], u))
			continue;
		fprintf(report->out, "%s%s",
			at == 0       ? ""
			: at + 1 == n ? " and "
				      : ", ",
			rules[u->rule].id);
		at++;
	}
}

/* Are @a and @b the same gap in two processes? */
static bool is_gap_alike(const struct unchecked_rule *a, const struct unchecked_rule *b)
{
	return a->alike && a->alike == b->alike && a->rule == b->rule && a->partly == b->partly;
}

static bool was_printed(const struct findings *findings, size_t i)
{
	const struct unchecked_rule *u = &findings->unchecked[i];

	for (size_t before = 0; before < i; before++)
		if (is_gap_alike(&findings->unchecked[before], u) ||
		    (!u->alike && is_same_gap(&findings->unchecked[before], u)))
			return true;
	return false;
}

/* "; 7 more processes ended the same way" */
static void print_same_gaps(const struct report *report, size_t first)
{
	const struct findings *findings = report->findings;
	uint64_t n = 0;

	for (size_t i = first + 1; i < findings->nunchecked; i++)
		n += is_gap_alike(&findings->unchecked[first], &findings->unchecked[i]);
	if (n)
		fprintf(report->out, "; %" PRIu64 " more process%s ended the same way", n,
			n == 1 ? "" : "es");
}

void report_print_unchecked(const struct report *report)
{
	const struct findings *findings = report->findings;

	for (size_t i = 0; i < findings->nunchecked; i++) {
		const struct unchecked_rule *u = &findings->unchecked[i];

		if (i == 0)
			fputc('\n', report->out);
		if (was_printed(findings, i))
			continue;
		print_gap_rules(report, i);
		print_named(report->out,
			    u->partly ? " checked in part, because " : " not checked, because ",
			    u->because ? u->because : "?", "");
		print_same_gaps(report, i);
		fputc('\n', report->out);
	}
}

/* Print errors, once for each cause. */
static void print_errors(const struct report *report, const struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		const struct group *group = &groups->all[i];

		fputc('\n', report->out);
		report_print_error(report, &report->findings->facts->errors.all[group->first]);
		if (group->count > 1)
			fprintf(report->out, "  and %" PRIu64 " more like it\n", group->count - 1);
	}
}

static void print_findings(const struct report *report)
{
	const struct findings *findings = report->findings;
	bool told[RULE_COUNT] = { false };

	for (size_t i = 0; i < findings->n; i++)
		if (findings->all[i]->known == FINDING_NEW)
			report_print_finding(report, findings->all[i], told);
}

int report_print_details(const struct report *report)
{
	struct groups groups;
	int err = groups_add_errors(report->trace, &report->findings->facts->errors, &groups);

	if (err)
		return err;
	print_errors(report, &groups);
	print_findings(report);
	report_print_unchecked(report);
	if (report->findings->n)
		fprintf(report->out, "\nSee `verbatim explain ID` for a rule\n");
	groups_fini(&groups);
	return 0;
}

int report_text(const struct report *report)
{
	return report_screen(report) ?: report_print_details(report);
}

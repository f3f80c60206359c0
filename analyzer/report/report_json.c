/*
 * Findings for programs: one JSON object
 *
 * Field names are stable; new ones may be added. Handles, keys and addresses are numbers, an event
 * is a string "T:N", a time is in nanoseconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzer/check.h"
#include "analyzer/facts/delays.h"
#include "analyzer/facts/stalls.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/known.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sentence.h"
#include "analyzer/report/waits_text.h"
#include "core/base/text.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"
#include "core/wire/log.h"

/* ,"NAME": at the start of a member; no comma after an opening brace */
static void put_name(struct text *t, const char *name)
{
	char before = t->used ? t->at[t->used - 1] : '{';

	text_addf(t, "%s\"%s\":", before == '{' || before == '[' ? "" : ",", name);
}

static void start_element(struct text *t)
{
	if (t->at[t->used - 1] != '[')
		text_char(t, ',');
}

static void put_text(struct text *t, const char *key, const char *value)
{
	put_name(t, key);
	if (value)
		text_json(t, value, strlen(value));
	else
		text_addf(t, "null");
}

static void put_number(struct text *t, const char *key, int64_t value)
{
	put_name(t, key);
	text_addf(t, "%" PRId64, value);
}

static void put_ppm(struct text *t, const char *key, double value)
{
	put_name(t, key);
	text_addf(t, "%.6f", value);
}

static void put_bool(struct text *t, const char *key, bool value)
{
	put_name(t, key);
	text_addf(t, "%s", value ? "true" : "false");
}

static void put_event(struct text *t, const char *key, struct event_id id)
{
	char text[32];

	put_text(t, key, id.thread ? event_id_text(id, text) : NULL);
}

/* A process number within its trace, with the name of the trace if there are several. */
static void put_process(struct text *t, uint32_t process)
{
	const struct id_range *of = ids_find_range(0, process);

	if (of)
		put_text(t, "trace", of->name);
	put_number(t, "process", of && process ? process - of->processes : process);
}

static void put_thread(struct text *t, uint32_t thread)
{
	const struct id_range *of = thread ? ids_find_range(thread, 0) : NULL;

	put_number(t, "thread", of ? thread - of->threads : thread);
}

/* An element of a list of processes: 3, or "b.db process 3". */
static void add_process(struct text *t, uint32_t process)
{
	char name[PROCESS_TEXT];

	start_element(t);
	if (ids_find_range(0, process))
		text_addf(t, "\"%s\"", process_id_text(process, name));
	else
		text_addf(t, "%u", process);
}

static void open_array(struct text *t, const char *key)
{
	put_name(t, key);
	text_char(t, '[');
}

static void put_request(struct text *t, const struct first_request *request)
{
	char opcode[32];

	put_event(t, "request", request->id);
	if (!request->id.thread)
		return;
	put_number(t, "request_index", request->index);
	put_number(t, "posted_at", request->posted_at);
	put_text(t, "opcode", report_opcode(request, opcode));
	if (request->nsge) {
		put_number(t, "addr", (int64_t)request->sge.addr);
		put_number(t, "length", request->sge.length);
		put_number(t, "lkey", request->sge.lkey);
	}
	put_number(t, "remote_addr", (int64_t)request->remote_addr);
	put_number(t, "rkey", request->rkey);
}

static void put_frame(struct text *t, const struct report_line *line)
{
	const struct symbol *symbol = &line->symbol;

	start_element(t);
	text_char(t, '{');
	put_text(t, "module", line->frame.module);
	put_number(t, "module_offset", (int64_t)line->frame.offset);
	put_text(t, "function", symbol->function);
	if (symbol->function)
		put_bool(t, "inlined", symbol->inlined);
	if (symbol->file) {
		put_text(t, "file", symbol->file);
		put_number(t, "line", symbol->line);
	}
	if (symbol->problem)
		put_text(t, "problem", symbol->problem);
	text_char(t, '}');
}

static void put_frames(struct text *t, const struct report *report, const char *key, uint32_t stack)
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report_stack(report, stack, lines);

	open_array(t, key);
	for (unsigned int i = 0; i < n; i++)
		put_frame(t, &lines[i]);
	text_char(t, ']');
}

static void put_stack(struct text *t, const struct report *report, uint32_t stack)
{
	put_frames(t, report, "stack", stack);
}

/* The other request that may have failed instead. */
static void put_other_request(struct text *t, const struct report *report,
			      const struct first_request *request)
{
	put_name(t, "or");
	text_char(t, '{');
	put_request(t, request);
	put_stack(t, report, request->stack);
	text_char(t, '}');
}

/* The cause of the error. */
static void put_cause(struct text *t, const struct cause *cause)
{
	put_text(t, "lkey_of", cause && *cause->lkey ? cause->lkey : NULL);
	put_text(t, "rkey_of", cause && *cause->rkey ? cause->rkey : NULL);
	put_text(t, "port_then", cause ? cause->port : NULL);
	put_text(t, "keys", cause ? cause->key : NULL);
	put_text(t, "peer", cause ? cause->name : NULL);
	put_text(t, "peer_then", cause ? cause->peer : NULL);
}

static void put_first(struct text *t, const struct report *report, const struct first_error *error)
{
	char status[32];

	start_element(t);
	text_char(t, '{');
	put_process(t, error->process);
	put_text(t, "object", report_qp(error));
	put_number(t, "qp_num", error->qp_num);
	put_event(t, "event", error->event);
	put_number(t, "index", error->index);
	put_number(t, "time", error->time);
	put_text(t, "status", report_status(error->status, status));
	put_number(t, "vendor_err", error->vendor_err);
	put_number(t, "wr_id", (int64_t)error->wr_id);
	put_number(t, "candidates", error->candidates);
	put_request(t, &error->request);
	put_number(t, "flushed", (int64_t)error->flushes);
	put_stack(t, report, error->request.stack);
	put_frames(t, report, "polled", error->poll_stack);
	if (error->other.id.thread)
		put_other_request(t, report, &error->other);
	if (trace_made_fault(report->trace, error->request.id))
		put_text(t, "made", trace_made_fault(report->trace, error->request.id));
	put_cause(t, facts_cause(report->findings->facts, error));
	text_char(t, '}');
}

static void put_fact_parts(struct text *t, const struct fact *fact)
{
	if (fact->kind == FACT_FAILED) {
		put_text(t, "error", fact->error > 0 ? strerrorname_np(fact->error) : NULL);
		put_number(t, "errno", fact->error);
		put_text(t, "because", fact->because);
	} else if (fact->kind == FACT_HUNG) {
		put_number(t, "lasted", fact->lasted);
		put_bool(t, "process_ended", fact->ended);
	} else if (fact->kind == FACT_KILLED || fact->kind == FACT_EXITED) {
		put_number(t, fact->kind == FACT_KILLED ? "signal" : "status", fact->error);
		put_number(t, "live_objects", (int64_t)fact->live);
		put_number(t, "last_verb", fact->last);
		put_text(t, "waited_for", fact->because);
	} else if (fact->kind == FACT_WAITED || fact->kind == FACT_PAUSED) {
		put_number(t, "lasted", fact->lasted);
		put_text(t, "waited_for", fact->because);
	} else {
		put_number(t, "type", fact->error);
	}
}

static void put_fact(struct text *t, const struct report *report, const struct fact *fact)
{
	start_element(t);
	text_char(t, '{');
	put_event(t, "event", fact->event);
	put_number(t, "time", fact->time);
	put_process(t, fact->process);
	put_thread(t, fact->thread);
	put_text(t, "verb", fact->verb == VERB_COUNT ? NULL : verb_infos[fact->verb].name);
	put_text(t, "what", fact->what);
	put_fact_parts(t, fact);
	put_number(t, "count", (int64_t)fact->count);
	open_array(t, "processes");
	for (size_t i = 0; i < fact->nin; i++)
		add_process(t, fact->in[i]);
	text_char(t, ']');
	put_stack(t, report, fact->stack);
	text_char(t, '}');
}

static void put_sums(struct text *t, const struct fact_sums *sums)
{
	put_number(t, "verbs", (int64_t)sums->verbs);
	put_number(t, "failed", (int64_t)sums->failed);
	put_number(t, "unfinished", (int64_t)sums->unfinished);
	put_number(t, "completions", (int64_t)sums->completions);
	put_number(t, "completions_in_error", (int64_t)sums->in_error);
	put_number(t, "flushed", (int64_t)sums->flushed);
}

static void put_facts(struct text *t, const struct report *report)
{
	static const char *const names[FACT_COUNT] = {
		[FACT_FAILED] = "failed_verbs",     [FACT_HUNG] = "hung_calls",
		[FACT_KILLED] = "killed_processes", [FACT_FATAL] = "fatal_events",
		[FACT_EXITED] = "failed_exits",     [FACT_WAITED] = "vain_waits",
		[FACT_PAUSED] = "long_waits"
	};
	const struct facts *facts = report->findings->facts;

	put_sums(t, &facts->sums);
	for (int kind = 0; kind < FACT_COUNT; kind++) {
		if (!names[kind])
			continue;
		open_array(t, names[kind]);
		for (size_t i = 0; i < facts->list.n; i++)
			if ((int)facts->list.all[i].kind == kind && facts->list.all[i].count)
				put_fact(t, report, &facts->list.all[i]);
		text_char(t, ']');
	}
	open_array(t, "muted_facts");
	for (int kind = 0; kind < FACT_COUNT; kind++)
		if (facts->off[kind]) {
			start_element(t);
			text_addf(t, "\"%s\"", fact_infos[kind].name);
		}
	text_char(t, ']');
}

static void put_step(struct text *t, const struct report *report, const struct finding_step *step)
{
	start_element(t);
	text_char(t, '{');
	put_text(t, "what", step->what);
	put_event(t, "event", step->moment.id);
	put_text(t, "verb",
		 step->moment.verb == VERB_COUNT ? NULL : verb_infos[step->moment.verb].name);
	put_process(t, step->moment.process);
	put_number(t, "time", step->moment.time);
	put_stack(t, report, step->moment.stack);
	text_char(t, '}');
}

/* The other processes that have the same finding. */
static void put_other_processes(struct text *t, const struct finding *finding)
{
	open_array(t, "also_in");
	for (size_t i = 0; i < finding->nalso; i++)
		add_process(t, finding->also[i]);
	text_char(t, ']');
}

/* The sentence of a finding, as in SARIF and in table `finding`. */
static void put_message(struct text *t, const struct finding *finding)
{
	struct text says = { 0 };

	sentence_put_finding(&says, finding);
	put_text(t, "message", says.at);
	t->failed |= says.failed;
	text_fini(&says);
}

static void put_finding(struct text *t, const struct report *report, const struct finding *finding)
{
	const struct rule *rule = &rules[finding->rule];
	char fingerprint[FINGERPRINT];

	start_element(t);
	text_char(t, '{');
	put_text(t, "rule", rule->id);
	put_text(t, "name", rule->name);
	put_text(t, "severity", rule_severity(finding_severity(finding)));
	put_event(t, "event", finding->event);
	put_number(t, "time", finding->time);
	put_process(t, finding->process);
	put_thread(t, finding->thread);
	put_other_processes(t, finding);
	put_text(t, "where", finding->where);
	put_text(t, "object", finding->object);
	put_message(t, finding);
	if (finding->site->hazard) {
		put_text(t, "breaks_when", finding->breaks);
		put_text(t, "settled_by", finding->settles);
	}
	put_number(t, "count", (int64_t)finding->site->count);
	put_text(t, "fingerprint", report_fingerprint(report, finding, fingerprint));
	open_array(t, "steps");
	for (unsigned int i = 0; i < finding->nsteps; i++)
		put_step(t, report, &finding->steps[i]);
	text_char(t, ']');
	put_text(t, "advice", finding_advice(finding));
	put_text(t, "source", rule->source);
	text_char(t, '}');
}

static void put_rules(struct text *t, const struct findings *findings)
{
	open_array(t, "rules");
	for (int i = 0; i < RULE_COUNT; i++) {
		start_element(t);
		text_char(t, '{');
		put_text(t, "id", rules[i].id);
		put_bool(t, "muted", findings->off[i]);
		put_bool(t, "checked", findings_checked(findings, (enum rule_id)i));
		put_number(t, "findings", (int64_t)findings->rules[i]);
		put_number(t, "hazards", (int64_t)findings->hazards[i]);
		text_char(t, '}');
	}
	text_char(t, ']');
}

/* The relation of a trace's clock to that of the report. */
static void put_clock(struct text *t, const struct trace_clock clock, int64_t ahead)
{
	static const char *const sources[] = { "first", "same machine", "estimated", "unknown" };

	put_text(t, "clock", sources[clock.source]);
	put_number(t, "offset", clock.offset);
	put_number(t, "ahead", ahead);
	put_ppm(t, "fast_ppm", trace_clock_ppm(&clock));
	if (clock.error != INT64_MAX) {
		put_number(t, "error", clock.error);
		put_ppm(t, "fast_error_ppm", clock.drift_error * 1e6);
	}
	put_number(t, "joined", clock.pairs);
	put_number(t, "messages", (int64_t)clock.messages);
}

/* The parts of a joint trace. */
static void put_traces(struct text *t, const struct report *report)
{
	size_t n = trace_nparts(report->trace);

	open_array(t, "traces");
	for (size_t i = 0; i < n; i++) {
		start_element(t);
		text_char(t, '{');
		put_text(t, "path", trace_part_path(report->trace, i));
		put_text(t, "name", trace_part_name(report->trace, i));
		put_clock(t, trace_clock(report->trace, i), trace_clock_ahead(report->trace, i));
		text_char(t, '}');
	}
	text_char(t, ']');
}

/* The traces that a merged one was made of. */
static void put_merged(struct text *t, const struct report *report)
{
	size_t n = trace_nmerged(report->trace);

	open_array(t, "merged");
	for (size_t i = 0; i < n; i++) {
		start_element(t);
		text_char(t, '{');
		put_text(t, "name", trace_merged_name(report->trace, i));
		put_text(t, "host", trace_merged_host(report->trace, i));
		put_clock(t, trace_merged_clock(report->trace, i),
			  trace_merged_ahead(report->trace, i));
		text_char(t, '}');
	}
	text_char(t, ']');
}

static void put_unchecked(struct text *t, const struct findings *findings)
{
	open_array(t, "not_checked");
	for (size_t i = 0; i < findings->nunchecked; i++) {
		start_element(t);
		text_char(t, '{');
		put_text(t, "rule", rules[findings->unchecked[i].rule].id);
		put_bool(t, "partly", findings->unchecked[i].partly);
		put_text(t, "because", findings->unchecked[i].because);
		text_char(t, '}');
	}
	text_char(t, ']');
}

/* A process, and its rank in the job. */
static void put_rank(struct text *t, const struct report *report, uint32_t id)
{
	const struct process *process = trace_process(report->trace, id);

	put_process(t, id);
	if (!process || process->rank.rank < 0)
		return;
	put_number(t, "rank", process->rank.rank);
	put_text(t, "node", *process->rank.node ? process->rank.node : NULL);
}

/* The thread that stands for a set of threads of a process. */
static void put_set_thread(struct text *t, const struct report *report, uint32_t id)
{
	const struct thread *thread = id ? trace_thread(report->trace, id) : NULL;

	if (!thread)
		return;
	put_number(t, "thread", id);
	put_number(t, "tid", thread->tid);
	put_text(t, "thread_name", thread->comm);
}

static void put_object(struct text *t, const struct report *report, const char *key, uint32_t id)
{
	const struct object *object = trace_object(report->trace, id);

	put_text(t, key, object ? object->name : NULL);
}

/* A process that is to blame. */
static void put_stall(struct text *t, const struct report *report, uint32_t node)
{
	const struct stalls *stalls = facts_stalls(report->findings->facts);
	const struct stall *stall = &stalls->all[node];
	struct text says = { 0 };

	start_element(t);
	text_char(t, '{');
	put_rank(t, report, stall->process);
	put_set_thread(t, report, stalls_thread(stalls, node));
	put_text(t, "state", stall_states[stall->state]);
	waits_put_state(&says, report->trace, stall);
	put_text(t, "message", says.at);
	t->failed |= says.failed;
	text_fini(&says);
	put_event(t, "event", stall->last.id);
	put_number(t, "time", stall->last.time);
	put_text(t, "verb", verb_infos[stall->last.verb].name);
	put_object(t, report, "object", stall->qp);
	put_stack(t, report, stall->stack);
	text_char(t, '}');
}

static void put_blame(struct text *t, const struct report *report, const struct wait_blame *blame)
{
	start_element(t);
	text_char(t, '{');
	put_bool(t, "circle", blame->n > 1);
	put_number(t, "direct", (int64_t)blame->direct);
	put_number(t, "all", (int64_t)blame->all);
	open_array(t, "processes");
	for (size_t i = 0; i < blame->n; i++)
		put_stall(t, report, blame->nodes[i]);
	text_addf(t, "]}");
}

static void put_link(struct text *t, const struct report *report, const struct stall_link *link)
{
	start_element(t);
	text_char(t, '{');
	put_rank(t, report, link->process);
	put_set_thread(t, report, link->thread);
	put_object(t, report, "object", link->qp);
	put_text(t, "why", stall_whys[link->why]);
	put_event(t, "request", link->request);
	put_number(t, "since", link->since);
	put_number(t, "outstanding", (int64_t)link->outstanding);
	put_number(t, "received", (int64_t)link->received);
	put_name(t, "for");
	text_char(t, '{');
	put_rank(t, report, link->to);
	put_set_thread(t, report, link->their_thread);
	put_object(t, report, "object", link->other);
	text_addf(t, "}}");
}

/* Delays in ns, by the way in which the cause was late. */
static void put_delay_reasons(struct text *t, const int64_t by[DELAY_HOWS])
{
	put_name(t, "how");
	text_char(t, '{');
	for (enum delay_how how = 0; how < DELAY_HOWS; how++)
		put_number(t, delay_hows[how], by[how]);
	text_char(t, '}');
}

static void put_pair(struct text *t, const struct report *report, const struct delay_pair *pair)
{
	start_element(t);
	text_char(t, '{');
	put_rank(t, report, pair->waiter);
	put_number(t, "ns", pair->ns);
	put_number(t, "times", (int64_t)pair->times);
	put_delay_reasons(t, pair->by);
	text_char(t, '}');
}

/* The rank that caused most of the waiting, or null. */
static void put_late(struct text *t, const struct report *report)
{
	const struct delays *delays = facts_delays(report->findings->facts);
	const struct delay_cause *cause = delays->most ? &delays->causes[delays->most] : NULL;

	put_name(t, "late");
	if (!cause) {
		text_addf(t, "null");
		return;
	}
	text_char(t, '{');
	put_rank(t, report, delays->most);
	put_event(t, "event", cause->first.id);
	put_object(t, report, "object", cause->qp);
	put_number(t, "times", (int64_t)cause->times);
	put_number(t, "late", cause->late);
	put_number(t, "caused", cause->ns);
	put_number(t, "waited", delays->waited);
	put_delay_reasons(t, cause->by);
	put_stack(t, report, cause->first.stack);
	open_array(t, "waiters");
	for (size_t i = 0; i < delays->npairs; i++)
		if (delays->pairs[i].cause == delays->most)
			put_pair(t, report, &delays->pairs[i]);
	text_addf(t, "]}");
}

/* Print nothing if no process is to blame. */
static void put_waits(struct text *t, const struct report *report)
{
	const struct stalls *stalls = facts_stalls(report->findings->facts);
	bool told = waits_are_shown(report->trace, stalls);

	put_name(t, "waits");
	text_char(t, '{');
	put_number(t, "waiting", told ? (int64_t)stalls->waiting : 0);
	open_array(t, "blamed");
	for (size_t i = 0; told && i < stalls->graph.nblames; i++)
		put_blame(t, report, &stalls->graph.blames[i]);
	text_char(t, ']');
	open_array(t, "links");
	for (size_t i = 0; told && i < stalls->nlinks; i++)
		if (stalls->links[i].used)
			put_link(t, report, &stalls->links[i]);
	text_char(t, ']');
	put_late(t, report);
	text_char(t, '}');
}

static void put_totals(struct text *t, struct totals totals)
{
	put_number(t, "duration_ns", totals.duration);
	put_number(t, "processes", totals.processes);
	put_number(t, "threads", totals.threads);
	put_number(t, "events", (int64_t)totals.events);
	put_number(t, "lost", (int64_t)totals.lost);
	put_number(t, "overwritten", (int64_t)totals.overwritten);
}

int report_json(const struct report *report)
{
	const struct findings *findings = report->findings;
	struct text t = { 0 };

	text_char(&t, '{');
	put_number(&t, "version", 1);
	put_text(&t, "trace", report->path);
	if (trace_nparts(report->trace) > 1)
		put_traces(&t, report);
	if (trace_nmerged(report->trace))
		put_merged(&t, report);
	put_totals(&t, trace_totals(report->trace));
	put_number(&t, "errors", (int64_t)findings_count(findings, 'E'));
	put_number(&t, "warnings", (int64_t)findings_count(findings, 'W'));
	put_number(&t, "hazards", (int64_t)findings_count(findings, 'H'));
	put_number(&t, "suppressed", (int64_t)suppressions_count(findings, FINDING_SUPPRESSED));
	put_number(&t, "in_baseline", (int64_t)suppressions_count(findings, FINDING_BASELINE));
	put_bool(&t, "bad", check_is_bad(findings));
	put_facts(&t, report);
	open_array(&t, "first_errors");
	for (size_t i = 0; i < findings->facts->errors.n; i++)
		put_first(&t, report, &findings->facts->errors.all[i]);
	text_char(&t, ']');
	open_array(&t, "findings");
	for (size_t i = 0; i < findings->n; i++)
		if (findings->all[i]->known == FINDING_NEW)
			put_finding(&t, report, findings->all[i]);
	text_char(&t, ']');
	put_rules(&t, findings);
	put_unchecked(&t, findings);
	put_waits(&t, report);
	text_addf(&t, "}\n");
	if (t.failed) {
		text_fini(&t);
		return log_err(-ENOMEM, "report");
	}
	fwrite(t.at, 1, t.used, report->out);
	text_fini(&t);
	return 0;
}

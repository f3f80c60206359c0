/*
 * ENV: the environment of the program
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/explain/counter.h"
#include "analyzer/model/pinned.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/evidence.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/text.h"
#include "core/store/read/coverage.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/store/read/merged.h"
#include "core/wire/hash.h"

static void fill_memlock(struct finding *finding, const struct trace_event *event, uint64_t wanted,
			 const struct pinned *pinned, const struct process *process,
			 const char *limiter)
{
	const char *verb = verb_infos[event->call->verb].name;
	char asked[32], have[32], limit[32], process_name[PROCESS_TEXT], regions[WORDS_COUNT];
	struct moment moment = moment_of(event);

	finding_at(finding, &moment);
	finding_text(&finding->where, "%s(): length", verb);
	finding_text(&finding->says,
		     "%s() of %s failed with ENOMEM: %s had %s pinned by %s, "
		     "RLIMIT_MEMLOCK is %s, %s%s%s.",
		     verb, words_format_bytes(wanted, asked),
		     process_id_text(event->process, process_name),
		     words_format_bytes(pinned->bytes, have),
		     words_format_count(pinned->regions, "region", regions),
		     words_format_bytes(process->memlock, limit), *limiter ? "which " : "",
		     *limiter ? limiter : "and it had no CAP_IPC_LOCK",
		     *limiter ? " applies to all users, including root" : "");
	if (pinned->regions)
		finding_step(finding, "registered before", &pinned->last);
	finding_step(finding, "refused", &moment);
}

/*
 * ENV-001. Only if the regions alone exceed the limit: queues pin memory, too, but how much is not
 * known, and a device may have other reasons for ENOMEM.
 */
void env_001(struct check *check, const struct trace_event *returned)
{
	const struct process *process = trace_process(check->trace, returned->process);
	const struct pinned *pinned = model_pinned(check->model, returned->process);
	uint64_t addr, length, wanted;
	struct finding *finding;
	const char *limiter;

	if (!returned->call->failed || returned->call->error != ENOMEM ||
	    !pinned_read_request(returned, &addr, &length))
		return;
	limiter = pinned_limiter(check->model, returned->process,
				 pinned_device_of(check->model, returned));
	if (!process || !limiter)
		return;
	wanted = pinned_page_bytes(check->model, returned->process, addr, length);
	if (pinned->bytes + wanted <= process->memlock)
		return;
	finding = findings_add(
		check->findings, RULE_ENV_001,
		findings_key(returned->call->verb, returned->call->stack, returned->process));
	if (finding)
		fill_memlock(finding, returned, wanted, pinned, process, limiter);
}

struct blind_spots {
	struct check *check;
	size_t part; /* the part of a joint trace that is checked */
};

static void report_direct(void *arg, const struct coverage_direct *direct)
{
	const struct blind_spots *in = arg;
	struct trace *trace = in->check->trace;
	const struct trace_clock clock = trace_clock(trace, in->part);
	uint32_t process = trace_whole_process(trace, in->part, direct->process);
	char text[PROCESS_TEXT], count[WORDS_COUNT];
	struct finding *finding = NULL;

	if (direct->function && evidence_is_bypassed(direct->function))
		finding = findings_group(in->check->findings, RULE_ENV_002,
					 findings_key(process, 0, 0), true);
	if (!finding || finding->says)
		return;
	finding->process = process;
	finding->time = trace_clock_time(&clock, direct->time);
	finding->event = trace_whole_event(trace, in->part, direct->first);
	finding->thread = finding->event.thread;
	finding_text(&finding->where, "%s()", direct->function);
	finding_text(&finding->says,
		     "%s called %s() %s: data sent and received this way is not in the trace.",
		     process_id_text(process, text), direct->function,
		     words_format_count(direct->times, "time", count));
	if (finding->says && finding->says[0] == 'p')
		finding->says[0] = 'P';
}

/* ENV-002: from table `coverage`, which is complete only at this point. */
void env_002(struct check *check, const struct findings *findings)
{
	(void)findings;
	for (size_t i = 0; i < trace_nparts(check->trace); i++)
		coverage_visit_direct_calls(trace_part(check->trace, i), report_direct,
					    &(struct blind_spots){ check, i });
}

enum { COUNTERS_SHOWN = 3 };

/* The counters of a port that have risen: how many of each kind, and the text about them. */
struct port_sum {
	struct check *check;
	size_t part;
	unsigned int merged;
	char device[64];
	uint32_t port;
	struct text rose[COUNTER_KINDS];
	unsigned int n[COUNTER_KINDS];
};

/* "port 1 of mlx5_0", of which host if there are several traces. */
static void put_port(struct text *t, const struct port_sum *sum)
{
	struct trace *trace = sum->check->trace;
	const char *host = NULL;

	if (sum->port)
		text_addf(t, "port %u of ", sum->port);
	text_printable(t, sum->device);
	if (trace_nparts(trace) > 1)
		host = trace_part_name(trace, sum->part);
	else if (sum->merged && sum->merged <= trace_nmerged(trace))
		host = trace_merged_name(trace, sum->merged - 1);
	if (host) {
		text_addf(t, " (");
		text_printable(t, host);
		text_addf(t, ")");
	}
}

static double seconds_of(int64_t ns)
{
	return (double)ns / 1e9;
}

/* The first few of the most telling kinds. */
static void put_rises(struct text *t, const struct port_sum *sum)
{
	unsigned int shown = 0, all = 0;

	for (int kind = 0; kind < COUNTER_KINDS; kind++) {
		all += sum->n[kind];
		if (!sum->n[kind] || shown >= COUNTERS_SHOWN)
			continue;
		text_addf(t, "%s%s", shown ? "; " : "", sum->rose[kind].at ?: "");
		shown += sum->n[kind] < COUNTERS_SHOWN ? sum->n[kind] : COUNTERS_SHOWN;
	}
	if (all > shown)
		text_addf(t, "; and %u other counters", all - shown);
}

static void report_port(struct port_sum *sum)
{
	struct findings *findings = sum->check->findings;
	struct text name = { 0 }, rises = { 0 };
	struct finding *finding = NULL;
	unsigned int any = 0;

	for (int kind = 0; kind < COUNTER_KINDS; kind++)
		any += sum->n[kind];
	put_port(&name, sum);
	put_rises(&rises, sum);
	if (any && name.at && rises.at)
		finding = findings_add(findings, RULE_ENV_003,
				       findings_key(hash_of(name.at, name.used, 0), 0, 0));
	if (finding) {
		finding->time = findings->last;
		finding_text(&finding->where, "%s", name.at);
		finding_text(&finding->says, "%c%s: %s.%s", sum->port ? 'P' : name.at[0],
			     name.at + 1, rises.at,
			     any > sum->n[COUNTER_GONE]
				     ? " The counters cover the whole device, including other "
				       "programs that use it."
				     : "");
	}
	text_fini(&name);
	text_fini(&rises);
	for (int kind = 0; kind < COUNTER_KINDS; kind++)
		text_fini(&sum->rose[kind]);
}

/* When the recorder saw the counter rise: it reads counters once a second. */
static void put_rise_time(struct text *t, const struct lookup_counter *counter)
{
	if (counter->since == INT64_MIN)
		return;
	if (counter->since == counter->until)
		text_addf(t, " before %.1f s", seconds_of(counter->since));
	else
		text_addf(t, " from %.1f s to %.1f s", seconds_of(counter->since),
			  seconds_of(counter->until));
}

static void add_counter(void *arg, const struct lookup_counter *counter)
{
	const struct counter_meaning *meaning = counter_find(counter->name);
	struct port_sum *sum = arg;
	struct text *t;

	if (sum->merged != counter->merged || sum->port != counter->port ||
	    strncmp(sum->device, counter->device, sizeof(sum->device) - 1) != 0) {
		report_port(sum);
		*sum = (struct port_sum){ .check = sum->check,
					  .part = sum->part,
					  .merged = counter->merged,
					  .port = counter->port };
		snprintf(sum->device, sizeof(sum->device), "%s", counter->device);
	}
	/* a counter that is lower now has been reset */
	if (!meaning || counter->last <= counter->first)
		return;
	t = &sum->rose[meaning->kind];
	if (sum->n[meaning->kind]++ >= COUNTERS_SHOWN)
		return;
	if (meaning->kind == COUNTER_GONE) {
		if (sum->n[meaning->kind] == 1)
			text_addf(t, "%s", meaning->means);
		return;
	}
	text_addf(t, "%s%s rose by %" PRIu64, t->used ? "; " : "", counter->name,
		  counter->last - counter->first);
	put_rise_time(t, counter);
	text_addf(t, " (%s)", meaning->means);
}

/* ENV-003: table `counter` is written when the recording ends. */
void env_003(struct check *check, const struct findings *findings)
{
	(void)findings;
	for (size_t i = 0; i < trace_nparts(check->trace); i++) {
		struct port_sum sum = { .check = check, .part = i };

		lookup_counters(trace_part(check->trace, i), add_counter, &sum);
		report_port(&sum);
	}
}

/*
 * ENV: the environment of the program
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/pinned.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/evidence.h"
#include "analyzer/rules/judge.h"
#include "core/store/db/sql.h"
#include "core/store/read/joint.h"

static void fill_memlock(struct finding *finding, const struct trace_event *event, uint64_t wanted,
			 const struct pinned *pinned, const struct process *process)
{
	const char *verb = verb_infos[event->call->verb].name;
	char asked[32], have[32], limit[32], process_name[PROCESS_TEXT], regions[WORDS_COUNT];
	struct moment moment = moment_of(event);

	finding_at(finding, &moment);
	finding_text(&finding->where, "%s(): length", verb);
	finding_text(
		&finding->says,
		"%s() of %s failed with ENOMEM: %s had %s pinned by %s, "
		"RLIMIT_MEMLOCK is %s, %s.",
		verb, judge_bytes(wanted, asked), process_id_text(event->process, process_name),
		judge_bytes(pinned->bytes, have), words_count(pinned->regions, "region", regions),
		judge_bytes(process->memlock, limit),
		process->ipc_lock ? "which siw applies to all users, including root"
				  : "and it had no CAP_IPC_LOCK");
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

	if (!returned->call->failed || returned->call->error != ENOMEM ||
	    !pinned_request(returned, &addr, &length))
		return;
	if (!pinned_is_limited(process, pinned_device(check->model, returned)))
		return;
	wanted = pinned_pages(check->model, returned->process, addr, length);
	if (pinned->bytes + wanted <= process->memlock)
		return;
	finding = findings_add(
		check->findings, RULE_ENV_001,
		findings_key(returned->call->verb, returned->call->stack, returned->process));
	if (finding)
		fill_memlock(finding, returned, wanted, pinned, process);
}

/* In trace @part of those that are checked. */
static void find_blind_spots(struct check *check, size_t part)
{
	const struct trace_clock clock = trace_clock(check->trace, part);
	char text[PROCESS_TEXT], count[WORDS_COUNT];
	sqlite3_stmt *stmt;

	if (sql_prepare(trace_db(trace_part(check->trace, part)),
			"SELECT process, detail, sum(times), min(time), thread, n FROM coverage"
			" WHERE what = 'direct' GROUP BY process, detail ORDER BY min(time)",
			&stmt))
		return;
	while (sql_step(stmt) > 0) {
		char *name = sql_strdup(stmt, 1);
		uint64_t times = (uint64_t)sqlite3_column_int64(stmt, 2);
		uint32_t process = trace_whole_process(check->trace, part, sql_u32(stmt, 0));
		struct finding *finding = NULL;

		if (name && evidence_goes_round(name))
			finding = findings_group(check->findings, RULE_ENV_002,
						 findings_key(process, 0, 0), true);
		if (finding && !finding->says) {
			finding->process = process;
			finding->time = trace_clock_time(&clock, sql_time(stmt, 3));
			finding->event = trace_whole_event(
				check->trace, part,
				(struct event_id){ sql_u32(stmt, 4),
						   (uint64_t)sqlite3_column_int64(stmt, 5) });
			finding->thread = finding->event.thread;
			finding_text(&finding->where, "%s()", name);
			finding_text(
				&finding->says,
				"%s called %s() %s: data sent and received this way is not in the "
				"trace.",
				process_id_text(process, text), name,
				words_count(times, "time", count));
			if (finding->says && finding->says[0] == 'p')
				finding->says[0] = 'P';
		}
		free(name);
	}
	sqlite3_finalize(stmt);
}

/* ENV-002: from table `coverage`, which is complete only at this point. */
void env_002(struct check *check, const struct findings *findings)
{
	(void)findings;
	for (size_t i = 0; i < trace_nparts(check->trace); i++)
		find_blind_spots(check, i);
}

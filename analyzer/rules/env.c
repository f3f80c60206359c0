/*
 * ENV: the surroundings of the program
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/pinned.h"
#include "analyzer/rules/evidence.h"
#include "analyzer/rules/judge.h"
#include "core/store/db/sql.h"

static void fill_memlock(struct finding *finding, const struct trace_event *event, uint64_t wanted,
			 const struct pinned *pinned, const struct process *process)
{
	const char *verb = verb_infos[event->call->verb].name;
	char asked[32], have[32], limit[32];
	struct moment moment = { .id = event->id,
				 .verb = event->call->verb,
				 .process = event->process,
				 .stack = event->call->stack,
				 .time = event->call->begin };

	finding->event = event->id;
	finding->time = event->call->begin;
	finding->process = event->process;
	finding->thread = event->id.thread;
	finding_text(&finding->where, "%s(): length", verb);
	finding_text(&finding->says,
		     "%s() of %s failed with ENOMEM: process %u had %s pinned by %u regions, "
		     "RLIMIT_MEMLOCK is %s, and it had no CAP_IPC_LOCK.",
		     verb, judge_bytes(wanted, asked), event->process,
		     judge_bytes(pinned->bytes, have), pinned->regions,
		     judge_bytes(process->memlock, limit));
	if (pinned->regions)
		finding_step(finding, "registered before", &pinned->last);
	finding_step(finding, "refused", &moment);
}

/*
 * ENV-001. Only where the regions alone pass the limit: queues pin memory, too, but how much is
 * not known, and a device may have other reasons for ENOMEM.
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
	if (!process || !process->page_size || process->ipc_lock ||
	    process->memlock == PROCESS_UNLIMITED)
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

/* ENV-002: from table `coverage`, which is complete only now. */
void env_002(struct check *check, const struct findings *findings)
{
	sqlite3_stmt *stmt;

	(void)findings;
	if (sql_prepare(trace_db(check->trace),
			"SELECT process, detail, sum(times), min(time), thread, n FROM coverage"
			" WHERE what = 'direct' GROUP BY process, detail ORDER BY min(time)",
			&stmt))
		return;
	while (sql_step(stmt) > 0) {
		char *name = sql_strdup(stmt, 1);
		uint64_t times = (uint64_t)sqlite3_column_int64(stmt, 2);
		struct finding *finding = NULL;

		if (name && evidence_goes_round(name))
			finding = findings_group(check->findings, RULE_ENV_002,
						 findings_key(sql_u32(stmt, 0), 0, 0), true);
		if (finding && !finding->says) {
			finding->process = sql_u32(stmt, 0);
			finding->time = sql_time(stmt, 3);
			finding->event =
				(struct event_id){ sql_u32(stmt, 4),
						   (uint64_t)sqlite3_column_int64(stmt, 5) };
			finding->thread = finding->event.thread;
			finding_text(&finding->where, "%s()", name);
			finding_text(&finding->says,
				     "Process %u called %s() %" PRIu64
				     " times: what it sends and receives there is not in the "
				     "trace.",
				     finding->process, name, times);
		}
		free(name);
	}
	sqlite3_finalize(stmt);
}

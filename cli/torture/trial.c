/*
 * What the trace of a run shows
 */
#include "cli/torture/trial.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "analyzer/check.h"
#include "analyzer/facts/place.h"
#include "core/store/open.h"
#include "core/wire/log.h"

void trial_fini(struct trial *trial)
{
	free(trial->cleaned);
	findings_free(trial->findings);
	symbols_close(trial->report.symbols);
	trace_close(trial->report.trace);
}

static int alloc_cleaned_flags(struct trial *trial)
{
	uint32_t n = 1;

	while (trace_process(trial->report.trace, n))
		n++;
	trial->cleaned = calloc(n, sizeof(*trial->cleaned));
	return trial->cleaned ? 0 : log_err(-ENOMEM, "judge a run");
}

int trial_open(struct trial *trial, const struct run *run)
{
	char path[RUN_PATH + 16];
	int err = trace_open(run_file(run, "trace.db", path), &trial->report.trace);

	if (!err)
		err = check_trace(trial->report.trace, NULL, &trial->findings);
	if (!err)
		err = alloc_cleaned_flags(trial);
	trial->report.findings = trial->findings;
	return err ? err : symbols_open(&trial->report.symbols);
}

/* The events */

static bool is_site(const struct trial *trial, enum verb verb, uint32_t stack)
{
	const struct site *site = trial->failure->site;

	return verb == site->verb && place_key(trial->report.trace, stack) == site->key;
}

/*
 * Has the program itself destroyed an object? Objects of librdmacm do not count, nor does what the
 * program destroys while it exits.
 */
static bool is_cleaning_up(const struct trial *trial, const struct trace_event *event)
{
	const struct call *call = event->call;

	return verb_infos[call->verb].effect == EFFECT_DESTROY && !event->inner && call->end >= 0 &&
	       !trace_stack_has_cm(trial->report.trace, call->stack, 2);
}

static void note_call(struct trial *trial, const struct trace_event *event)
{
	const struct call *call = event->call;

	if (trial->occurred && is_cleaning_up(trial, event))
		trial->cleaned[event->process] = true;
	if (!trial->failure->error || !is_site(trial, call->verb, call->stack))
		return;
	if (call->failed && !trial->occurred)
		trial->occurred = true;
	else if (!call->failed && trial->occurred)
		trial->again = true;
}

static void note_post(struct trial *trial, const struct post *post)
{
	if (!trial->failure->error || !is_site(trial, post->verb, post->stack))
		return;
	if (post->ret && !trial->occurred)
		trial->occurred = true;
	else if (!post->ret && trial->occurred)
		trial->again = true;
}

static void note_notify(struct trial *trial, const struct notify *notify)
{
	if (!trial->failure->error || trial->failure->site->verb != VERB_req_notify_cq)
		return;
	trial->again |= !notify->ret && trial->occurred;
	trial->occurred |= notify->ret != 0;
}

static void note_poll(struct trial *trial, const struct poll *poll)
{
	for (uint32_t i = 0; i < poll->nwc && trial->failure->status; i++)
		trial->occurred |= (int)poll->wc[i].status == trial->failure->status;
}

static void note_last_verb(struct trial *trial, const struct trace_event *event)
{
	enum verb verb = trace_verb(event);

	if (event->process != trial->killed || verb == VERB_COUNT || event->inner)
		return;
	trial->verb = verb;
	trial->stack = event->kind == TRACE_POST ? event->post->stack
		       : event->kind == TRACE_CALL || event->kind == TRACE_RETURN
			       ? event->call->stack
			       : 0;
}

int trial_read_events(struct trial *trial)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(trial->report.trace, NULL, &cursor), more;

	if (err)
		return err;
	while ((more = cursor_next(cursor, &event)) > 0) {
		if (event->kind == TRACE_CALL)
			note_call(trial, event);
		else if (event->kind == TRACE_POST)
			note_post(trial, event->post);
		else if (event->kind == TRACE_POLL)
			note_poll(trial, event->poll);
		else if (event->kind == TRACE_NOTIFY)
			note_notify(trial, event->notify);
		note_last_verb(trial, event);
	}
	cursor_close(cursor);
	return more;
}

/* Was the process of the failure killed? The request at which it died is not in the trace. */
static bool is_killed(const struct trial *trial, const struct sites *sites)
{
	const struct site *site = trial->failure->site;
	const struct process *process =
		site->node < sites->nodes
			? trace_process(trial->report.trace, sites->processes[site->node])
			: NULL;

	return process && process->status > 0 && WIFSIGNALED(process->status) &&
	       WTERMSIG(process->status) == SIGKILL;
}

int trial_find_request(struct trial *trial, const struct run *run)
{
	const struct site *site = trial->failure->site;
	char path[RUN_PATH + 16];
	struct event_id fault;
	struct sites sites;
	int err;

	if (run->by_recorder)
		trial->occurred = trace_nth_fault(trial->report.trace, 0, &fault);
	trial->occurred |= trial->failure->chaos;
	if (run->by_recorder || trial->failure->error || trial->occurred)
		return 0;
	err = sites_read(run_file(run, "trace.db", path), false, &sites);
	if (err)
		return err;
	if (trial->failure->kills)
		trial->occurred = is_killed(trial, &sites);
	for (size_t i = 0; i < sites.n && !trial->failure->kills; i++)
		trial->occurred |= sites.all[i].node == site->node &&
				   sites.all[i].opcode == site->opcode &&
				   sites.all[i].last >= trial->failure->n;
	sites_fini(&sites);
	return 0;
}

/* Signals */

bool trial_is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
	       signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS;
}

void trial_find_crash(struct trial *trial)
{
	const struct process *process;

	for (uint32_t id = 1; (process = trace_process(trial->report.trace, id)); id++)
		if (process->status > 0 && WIFSIGNALED(process->status) &&
		    trial_is_crash(WTERMSIG(process->status)) && !trial->signal) {
			trial->signal = WTERMSIG(process->status);
			trial->killed = id;
		}
}

/*
 * Calls that never returned, and processes that were killed, have failed or waited in vain
 *
 * 	call --> the thread's call under way --> return: forgotten
 * 	                                    \-> end of the process: it never returned
 *
 * A thread may wait for an event when its program ends; other calls return, unless they have only
 * just begun. A call of librdmacm counts, and not the calls that it makes.
 */
#include "analyzer/facts/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/facts/activity.h"
#include "analyzer/facts/crashed.h"
#include "analyzer/facts/delays.h"
#include "analyzer/facts/unsignalled_waits.h"
#include "analyzer/facts/last_seen.h"
#include "analyzer/facts/outside.h"
#include "analyzer/facts/pauses.h"
#include "analyzer/facts/place.h"
#include "analyzer/facts/spins.h"
#include "analyzer/facts/stalls.h"
#include "analyzer/facts/waits.h"
#include "analyzer/model/crash.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/reason.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

enum { HUNG_NS = 250000000, TEXT = 256 };

/* A call that has begun; its id is 0:0 if there is none. */
struct call_in_progress {
	struct moment moment;
	bool waits;
	uint64_t channel; /* the completion channel of whose events it waits for one; 0: none */
	char *what;
	struct crashed_call given;
};

struct ends {
	struct trace *trace;
	struct fact_list *facts;
	struct call_in_progress *calls; /* by thread */
	size_t ncalls;
	struct activity *activity;
	struct waits *waits;
	struct pauses *pauses;
	struct stalls *stalls;
	struct delays *delays;
	struct unsignalled_waits *unsignalled;
};

int ends_new(struct trace *trace, struct fact_list *facts, struct ends **ret_ends)
{
	struct ends *ends = calloc(1, sizeof(*ends));
	int err;

	if (!ends)
		return log_err(-ENOMEM, "calls that never returned");
	ends->trace = trace;
	ends->facts = facts;
	ends->activity = activity_new(trace);
	ends->pauses = pauses_new(trace, facts);
	ends->delays = delays_new(trace);
	ends->unsignalled =
		ends->activity ? unsignalled_waits_new(trace, facts, ends->activity) : NULL;
	err = ends->unsignalled && ends->pauses && ends->delays
		      ? waits_new(trace, facts, ends->activity, &ends->waits)
		      : log_err(-ENOMEM, "the last verbs of threads");
	if (!err)
		err = stalls_new(trace, ends->activity, &ends->stalls);
	if (err) {
		ends_free(ends);
		return err;
	}
	*ret_ends = ends;
	return 0;
}

void ends_free(struct ends *ends)
{
	if (!ends)
		return;
	for (size_t i = 0; i < ends->ncalls; i++)
		free(ends->calls[i].what);
	free(ends->calls);
	waits_free(ends->waits);
	pauses_free(ends->pauses);
	stalls_free(ends->stalls);
	delays_free(ends->delays);
	unsignalled_waits_free(ends->unsignalled);
	activity_free(ends->activity);
	free(ends);
}

static struct call_in_progress *call_of(struct ends *ends, uint32_t thread)
{
	return vec_at(ends->calls, ends->ncalls, thread);
}

/* In a finished trace the return of the call is already known. */
void ends_note_call(struct ends *ends, struct model *model, const struct trace_event *event)
{
	bool returns = event->call->end >= 0 && !trace_is_live(ends->trace);
	struct call_in_progress *call = returns ? NULL : call_of(ends, event->id.thread);
	char text[TEXT];

	activity_note_call(ends->activity, event);
	stalls_note_call(ends->stalls, event);
	if (event->call->verb == VERB_modify_qp)
		waits_leave(ends->waits, model, event);
	if (!call || call->moment.id.thread)
		return;
	call->moment = moment_of(event);
	call->waits = verb_infos[event->call->verb].blocks;
	call->channel = event->call->verb == VERB_get_cq_event && event->call->args
				? args_number(event->call->args, ARG(channel))
				: 0;
	call->given = crashed_read_call(event);
	free(call->what);
	call->what = strdup(reason_call(model, event, text, sizeof(text)));
}

void ends_note_return(struct ends *ends, const struct model *model, const struct trace_event *event)
{
	struct call_in_progress *call;

	waits_note_change(ends->waits);
	activity_note_return(ends->activity, event);
	stalls_note_return(ends->stalls, event);
	pauses_note_return(ends->pauses, model, event);
	delays_note_return(ends->delays, model, event);
	if (event->id.thread >= ends->ncalls)
		return;
	call = &ends->calls[event->id.thread];
	if (call->moment.id.n == event->id.n)
		call->moment.id.thread = 0;
}

void ends_note_poll(struct ends *ends, struct model *model, const struct trace_event *event)
{
	if (event->poll->nwc) {
		pauses_note_poll(ends->pauses, model, event);
		delays_note_poll(ends->delays, model, event);
		unsignalled_waits_note_poll(ends->unsignalled, event);
		waits_poll(ends->waits, event);
	}
	activity_note_poll(ends->activity, event);
	stalls_note_poll(ends->stalls, event);
}

void ends_note_destroy(struct ends *ends, struct model *model, const struct trace_event *event)
{
	const struct verb_info *info = &verb_infos[event->call->verb];

	if (info->object != OBJECT_qp || info->effect != EFFECT_DESTROY)
		return;
	waits_note_destroy(ends->waits, model, event);
	waits_leave(ends->waits, model, event);
	unsignalled_waits_note_destroy(ends->unsignalled, model, event);
}

static bool has_ended(const struct ends *ends, uint32_t id)
{
	const struct process *process = trace_process(ends->trace, id);

	return process && process->end >= 0;
}

/*
 * A copy of a trace that was still recorded may end anywhere, and so may a trace with lost events.
 * Events missing in another trace of the job do not matter for the processes of this trace.
 */
static bool is_end_known(const struct ends *ends, const struct model_exit *end)
{
	struct trace_loss loss = trace_process_loss(ends->trace, end->process);

	return loss.events == loss.overwritten && !loss.damaged && !loss.interrupted &&
	       (has_ended(ends, end->process) ||
		!trace_process_meta(ends->trace, end->process, "snapshot"));
}

static void add_hung(struct ends *ends, struct call_in_progress *call, const struct model_exit *end)
{
	const struct moment *m = &call->moment;
	uint64_t key = fact_key(m->verb, place_key(ends->trace, m->stack), 0);
	struct fact *fact = fact_count(ends->facts, FACT_HUNG, key, end->process);

	if (!fact || fact->what)
		return;
	fact->event = m->id;
	fact->time = m->time;
	fact->thread = m->id.thread;
	fact->stack = m->stack;
	fact->verb = m->verb;
	fact->lasted = end->time - m->time;
	fact->ended = has_ended(ends, end->process);
	fact->what = call->what;
	call->what = NULL;
}

/* The signal, 0 if it is not known; or -1: it was not killed. */
static int find_signal(const struct process *process)
{
	if (!process)
		return -1;
	if (process->status != -1)
		return WIFSIGNALED(process->status) ? WTERMSIG(process->status) : -1;
	return process->ending && !strcmp(process->ending, "killed") ? 0 : -1;
}

/* The exit status; 0 also if it is not known. After exec(), the new program counts separately. */
static int find_status(const struct process *process)
{
	bool itself = process && process->ending && strcmp(process->ending, "exec") != 0;

	return itself && process->status != -1 && WIFEXITED(process->status)
		       ? WEXITSTATUS(process->status)
		       : 0;
}

/* Does another fact explain why @process failed? */
static bool is_explained(const struct ends *ends, uint32_t process)
{
	for (size_t i = 0; i < ends->facts->n; i++) {
		const struct fact *fact = &ends->facts->all[i];

		for (size_t k = 0; fact->count && k < fact->nin; k++)
			if (fact->in[k] == process)
				return true;
	}
	return false;
}

/* Was the end of @process seen before? The end of the trace ends it once more. */
static bool is_end_reported(const struct ends *ends, uint32_t process)
{
	for (size_t i = 0; i < ends->facts->n; i++)
		if (ends->facts->all[i].kind == FACT_KILLED &&
		    ends->facts->all[i].process == process)
			return true;
	return false;
}

/*
 * Why @process crashed: in the only call that it had begun and that should have returned, or after
 * its last call; NULL: not known.
 */
static char *find_crash(const struct ends *ends, const struct model *model, uint32_t process,
			const struct null_result *null)
{
	const struct call_in_progress *found = NULL;
	char *crash = NULL;

	for (size_t i = 0; i < ends->ncalls; i++) {
		const struct call_in_progress *call = &ends->calls[i];

		if (!call->moment.id.thread || call->moment.process != process || call->waits)
			continue;
		if (found)
			return NULL;
		found = call;
	}
	if (found)
		crash = crashed_describe_cause(model, process, &found->moment, &found->given);
	else if (!is_end_reported(ends, process))
		crash = crashed_describe_destroyed(model, process);
	if (crash || is_end_reported(ends, process))
		return crash;
	return crashed_describe_null(model, process, null)
		       ?: crashed_describe_no_qp(model, process);
}

/* Takes @crash. */
static void add_ended(struct ends *ends, struct model *model, const struct model_exit *end,
		      const char *expected, char *crash)
{
	const struct process *process = trace_process(ends->trace, end->process);
	int signal = find_signal(process), status = find_status(process);
	const struct last_verb *last = last_verb_of_process(model, end->process);
	struct fact *fact = fact_count(ends->facts, status ? FACT_EXITED : FACT_KILLED,
				       fact_key((uint64_t)end->process, 0, 0), end->process);

	if (!fact || !last) {
		free(crash);
		crash = NULL;
	}
	if (!fact)
		return;
	fact->time = end->time;
	fact->error = status ? status : signal;
	fact->live = model_count(model, end->process);
	if (!last)
		return;
	fact->last = last->at.time;
	fact->event = last->at.id;
	fact->verb = last->verb;
	fact->stack = last->stack;
	fact->because = crash ?: spins_describe(model, end->process);
	if (!crash &&
	    !waits_note_exit(ends->waits, model, end, (size_t)(fact - ends->facts->all)) &&
	    !fact->because)
		fact->because = outside_describe_cause(model, end->process, status, expected);
}

/* Add a fact for an end that is a failure or a crash, or that left objects behind. */
static void note_end(struct ends *ends, struct model *model, const struct model_exit *end,
		     bool failed, const char *expected, const struct null_result *null)
{
	const struct process *process = trace_process(ends->trace, end->process);
	int signal = find_signal(process), status = find_status(process);
	char *crash = find_crash(ends, model, end->process, null);

	if (signal < 0 && !status && !failed && has_ended(ends, end->process))
		waits_note_success(ends->waits, model, end);
	if ((signal < 0 || (!crash && !model_count(model, end->process))) &&
	    (!status || failed || is_explained(ends, end->process)))
		free(crash);
	else
		add_ended(ends, model, end, expected, crash);
}

void ends_note_post(struct ends *ends, struct model *model, const struct trace_event *event)
{
	if (post_is_send(event->post)) {
		waits_note_post(ends->waits, model, event);
		waits_resume(ends->waits, event);
		unsignalled_waits_note_post(ends->unsignalled, model, event);
	}
	stalls_note_post(ends->stalls, model, event);
}

void ends_note_fork(struct ends *ends, const struct trace_event *event)
{
	stalls_note_fork(ends->stalls, event);
}

const struct stalls *ends_get_stalls(const struct ends *ends)
{
	return ends->stalls;
}

const struct delays *ends_get_delays(const struct ends *ends)
{
	return ends->delays;
}

void ends_finish(struct ends *ends, const struct model *model)
{
	waits_finish(ends->waits);
	unsignalled_waits_finish(ends->unsignalled);
	pauses_finish(ends->pauses, model);
	stalls_finish(ends->stalls, ends->facts);
	last_seen_finish(ends->facts, ends->stalls);
	delays_finish(ends->delays, model);
}

/*
 * Was @call under way for long when @end came, though it should have returned? A wait for an event
 * may last; but no event comes from a channel that was destroyed meanwhile.
 */
static bool is_hung(const struct model *model, const struct call_in_progress *call,
		    const struct model_exit *end)
{
	const struct life *channel;

	if (!call->waits)
		return end->time - call->moment.time >= HUNG_NS;
	channel = call->channel
			  ? model_life(model, end->process, OBJECT_comp_channel, call->channel)
			  : NULL;
	return channel && channel->state == LIFE_GONE &&
	       channel->destroyed.time > call->moment.time &&
	       end->time - channel->destroyed.time >= HUNG_NS &&
	       !crash_has_thread_ended(model, call->moment.id.thread);
}

void ends_note_exit(struct ends *ends, struct model *model, const struct model_exit *end,
		    bool failed, const char *expected, struct null_result null)
{
	bool whole = is_end_known(ends, end);

	stalls_end_process(ends->stalls, model, end);
	note_end(ends, model, end, failed, expected, &null);
	for (size_t i = 0; i < ends->ncalls; i++) {
		struct call_in_progress *call = &ends->calls[i];

		if (!call->moment.id.thread || call->moment.process != end->process)
			continue;
		if (whole && is_hung(model, call, end))
			add_hung(ends, call, end);
		call->moment.id.thread = 0;
	}
}

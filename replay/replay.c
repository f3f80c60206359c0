/*
 * Replaying a trace
 *
 * The order of the recorded times is causal: a post or the call of a verb has the time when it
 * began, a poll or the return of a call the time when it ended, so an event's dependencies come
 * before it. The loopback of the device carries the traffic between contexts that belonged to
 * different processes.
 *
 * Not here: the order, and threads (play.c), single verbs (calls.c), posts (posts.c), polls
 * (expect.c), events (events.c); docs/REPLAY.md explains how they fit together.
 */
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/log.h"
#include "replay/alive.h"
#include "replay/calls.h"
#include "replay/cm/cm.h"
#include "replay/report/differ.h"
#include "replay/events.h"
#include "replay/data/faults.h"
#include "replay/replica.h"
#include "replay/learn.h"
#include "replay/state/recorded_fault.h"
#include "replay/state/needs.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "replay/data/contents.h"
#include "replay/play.h"
#include "replay/data/expect.h"
#include "replay/data/posts.h"
#include "replay/process/process.h"
#include "replay/state/recorded.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"

enum { SCRATCH = 1 << 16 };

static int replay_notify(struct replay *r, const struct trace_event *event)
{
	const struct notify *n = event->notify;
	struct replica *cq = replica_as(r, n->object, OBJECT_cq);
	int ret;

	if (event->inner)
		return 0;
	if (!cq || !cq->handle) {
		outcome_note_skipped(r->outcome, event->id, VERB_req_notify_cq, n->object,
				     "its completion queue does not exist in the replay");
		return 0;
	}
	ret = recorded_fault_repeat(r, event->id, VERB_req_notify_cq, n->object);
	if (!ret) {
		cq->armed = event->time;
		ret = ibv_req_notify_cq(cq->handle, n->solicited_only);
	}
	events_note_armed(cq);
	outcome_count(r->outcome, OUTCOME_NOTIFIES, 1);
	differ_check_ret(r->outcome, event->id, VERB_req_notify_cq, n->object, n->ret, ret);
	return 0;
}

/* Replay a fork: the child inherits the current objects. */
static void replay_fork(struct replay *r, const struct trace_event *event)
{
	const struct fork_event *fork = event->fork;
	const struct process *child = trace_process(r->trace, fork->child);

	if (fork->kind != TRACE_FORKED || !child || child->parent != event->process)
		return;
	if (processes_are_used())
		process_fork(fork->child);
	else
		outcome_note(r->outcome,
			     "process %u forked process %u: one process replays both (--processes "
			     "replays the fork)",
			     event->process, fork->child);
}

static void replay_exit(struct replay *r, uint32_t process)
{
	if (!processes_are_used()) {
		replica_clear(r, process);
		return;
	}
	replica_leave(r, process);
	if (!process_end(process, trace_process(r->trace, process)->ending))
		replica_forget(r, process);
}

/* Did a child fail to poll or arm a queue of its parent, in a replay with one process? */
static bool was_refused(const struct replay *r, const struct trace_event *event)
{
	bool poll = event->kind == TRACE_POLL;
	uint32_t queue = poll ? event->poll->object : event->notify->object;

	return queue && (poll ? event->poll->ret < 0 : event->notify->ret) &&
	       translate_is_inherited(r, queue, event->process);
}

static int skip_refused(struct replay *r, const struct trace_event *event)
{
	if (!event->inner)
		outcome_note_skipped(r->outcome, event->id, trace_verb(event), 0,
				     translate_inherited);
	return 0;
}

static int dispatch_event(struct replay *r, const struct trace_event *event)
{
	if ((event->kind == TRACE_POLL || event->kind == TRACE_NOTIFY) && was_refused(r, event))
		return skip_refused(r, event);
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return calls_replay(r, event);
	case TRACE_POST:
		return posts_replay(r, event);
	case TRACE_POLL:
		if (recorded_fault_repeat(r, event->id, event->poll->verb, event->poll->object)) {
			expect_note(r, event);
			return 0;
		}
		faults_begin_poll(r, event);
		return expect_poll(r, event, 0);
	case TRACE_NOTIFY:
		return replay_notify(r, event);
	case TRACE_FORK:
		replay_fork(r, event);
		return 0;
	case TRACE_EXIT:
		cm_clear(r, event->process);
		replay_exit(r, event->process);
		return 0;
	case TRACE_MARK:
	case TRACE_MEMORY:
	case TRACE_MISUSE:
	case TRACE_PROCESS:
		return 0;
	}
	return 0;
}

/* Leave an event out, because its replayed process has ended; that was reported. */
static int skip_event(struct replay *r, const struct trace_event *event, const char *why)
{
	if (trace_verb(event) != VERB_COUNT && !event->inner &&
	    (event->kind != TRACE_CALL && event->kind != TRACE_RETURN ? true
								      : calls_is_replayed(event)))
		outcome_note_skipped(r->outcome, event->id, trace_verb(event), 0, why);
	return 0;
}

static int replay_event(struct replay *r, const struct trace_event *event)
{
	const char *why;
	int err;

	if (!event->process || event->process >= r->nprocesses)
		return log_why(-EBADMSG, "replay an event of process %u, which is not in the trace",
			       event->process);
	err = synth_prepare(r, event);
	if (err < 0)
		return err;
	pair_wait_before(r, event);
	why = process_enter(event);
	err = why ? skip_event(r, event, why) : dispatch_event(r, event);
	process_leave();
	pair_report_after(r, event);
	return err;
}

static int start_processes(struct replay *r)
{
	r->xrc_file = translate_xrc_file(); /* before any fork: all processes share it */
	return processes_start(r->trace, r->outcome);
}

static int init_replay(struct replay *r)
{
	int err;

	r->xrc_file = -1;
	r->cut = trace_cut(r->trace);
	r->scratch =
		mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->scratch == MAP_FAILED)
		r->scratch = NULL;
	if (!r->scratch || contents_init(r))
		return log_err(-ENOMEM, "prepare the replay");
	err = r->options->processes ? start_processes(r) : 0;
	if (!err && r->options->forked)
		r->options->forked(r->options->arg);
	err = err ?: pair_open(r);
	err = err ?: devices_open(r->options->device, &r->devices);
	err = err ?: learn_trace(r);
	err = err ?: cm_begin(r);
	return err ?: faults_new(r);
}

static void fini_replay(struct replay *r, int err)
{
	pair_fini(r, err < 0 ? err : outcome_stopped(r->outcome) ? -ECANCELED : 0);
	cm_fini(r);
	synth_fini(r);
	replica_fini(r);
	posts_fini(r);
	contents_fini(r);
	needs_fini(r);
	expect_fini(r);
	faults_free(r);
	events_fini(r);
	for (uint32_t i = 1; r->memory && i < r->nprocesses; i++)
		if (!recorded_memory_parent(r, i))
			memory_free(r->memory[i]);
	free(r->memory);
	free(r->nthreads);
	free(r->implicit);
	processes_stop();
	map_fini(&r->lkeys);
	map_fini(&r->rkeys);
	map_fini(&r->srqns);
	map_fini(&r->numbers);
	map_fini(&r->handles);
	map_fini(&r->left_out);
	devices_close(r->devices);
	if (r->scratch)
		munmap(r->scratch, SCRATCH);
	if (r->xrc_file >= 0)
		close(r->xrc_file);
}

int replay_run(struct trace *trace, const struct replay_options *options, struct outcome *outcome)
{
	struct replay r = { .trace = trace, .options = options, .outcome = outcome };
	char names[256];
	int err = init_replay(&r);

	if (!err) {
		devices_names(r.devices, names, sizeof(names));
		if (options->described)
			strncat(names, ", the software device", sizeof(names) - strlen(names) - 1);
		outcome_set_device(outcome, names);
		devices_report(r.devices, outcome);
		if (options->stands_in)
			outcome_set_other_device(outcome);
		err = needs_check(&r) ?: play_trace(&r, replay_event);
		err = outcome_stopped(outcome) && err == -ECANCELED ? 0 : err;
		if (options->moment && !err)
			err = alive_show(&r);
		if (!err)
			err = pair_end(&r, outcome_divergences(outcome));
		expect_end(&r);
		if (synth_report(&r) && !err)
			err = log_err(-ENOMEM, "report the synthesized peers");
		replica_clear(&r, 0);
		outcome_count(outcome, OUTCOME_FAULTS, faults_caused(&r));
	}
	fini_replay(&r, err);
	return err < 0 ? err : 0;
}

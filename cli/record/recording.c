/*
 * Running and recording a program
 *
 * 	session, trace -> program started -> drain, tend, sleep -> all ended -> trace complete
 *
 * All signals are blocked and taken by the sleep between two rounds, so there is no race. The first
 * signal that asks us to end is left to the program; a second one ends the recording and leaves the
 * program running.
 *
 * Not here: options (record.c), rings (collector.c), which descendants we wait for when the program
 * has ended (descendants.c), whether the program got a signal without us (signal_witness.c).
 */
#include "cli/record/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/rules/evidence.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/record/launch.h"
#include "cli/record/node.h"
#include "cli/record/live_view.h"
#include "cli/record/recording_priv.h"
#include "cli/record/running.h"
#include "core/wire/log.h"

#define MS 1000000ull

enum {
	UPDATE_MS = 20,
	/* after this time a signal to a process group has reached all members */
	SETTLE_MS = 20,
	AGAIN_MS = 300,        /* signals closer together are one request: timeout(1) sends two */
	IDLE_MS = 250,         /* the longest sleep while there are rings */
	IDLE_CHECK_MS = 100,   /* the longest sleep with --check */
	IDLE_STOP_MS = 10,     /* with --stop-on: near a finding, or while stopped */
	IDLE_ROTATE_MS = 1000, /* the longest sleep while there are no rings */
};

static void fail_recording(struct recording *r, int err)
{
	if (r->error)
		return;
	r->error = err;
	r->progress.failed = true;
	progress_clear(&r->progress);
	if (!r->ended)
		log_note("recording has stopped; the program continues unrecorded");
}

/* Reap the programs of a node, and check whether all recorders have ended. */
static void reap_members(struct recording *r)
{
	bool ended = !node_has_members(r->set->node, &r->session, r->set->linger);
	struct node_end end;

	while (node_next_end(r->set->node, &end))
		collector_note_end(r->collector, end.pid, end.status);
	if (ended && !r->ended)
		r->descendants.ended_at = clock_monotonic();
	r->ended = ended;
}

static void reap_child(struct recording *r)
{
	int status;

	if (r->set->node) {
		reap_members(r);
		return;
	}
	if (r->set->running) {
		r->ended = !session_process_alive(r->child, r->child_start);
		r->stop |= r->until && clock_monotonic() >= r->until;
		return;
	}
	if (r->ended || waitpid(r->child, &status, WNOHANG) != r->child)
		return;
	r->ended = true;
	r->descendants.ended_at = clock_monotonic();
	r->status = launch_status(status);
	collector_note_ended(r->collector, status);
}

static bool asks_to_end(int signal)
{
	return signal != SIGUSR1 && signal != SIGUSR2;
}

static void process_signal(struct recording *r, int signal)
{
	uint64_t now = clock_monotonic();

	if (signal == SIGCHLD) {
		r->tended_at = 0;
		return;
	}
	sigaddset(&r->pending, signal);
	r->pending_at = now;
	if (!asks_to_end(signal))
		return;
	r->stop |= r->set->running != NULL;
	if (r->asked_at && now - r->asked_at > AGAIN_MS * MS)
		r->stop = true;
	if (!r->asked_at)
		r->asked_at = now;
	r->asked = signal;
}

/*
 * The program got the signal, from or with the recorder; descendants that outlive it may not have.
 */
static void note_request(struct recording *r, bool group)
{
	r->descendants.asked = true;
	r->descendants.late = r->ended;
	r->descendants.group |= group;
	r->descendants.scanned_at = 0;
	r->tended_at = 0;
}

/* Pass a signal that only the recorder got to the program; obey it if the program has ended. */
static void pass_signals_on(struct recording *r)
{
	if (!r->pending_at || clock_monotonic() - r->pending_at < SETTLE_MS * MS || r->set->running)
		return;
	signal_witness_read(&r->witness);
	for (int signal = 1; signal < NSIG; signal++) {
		bool group = signal_witness_has(&r->witness, signal);

		if (sigismember(&r->pending, signal) != 1)
			continue;
		if (asks_to_end(signal))
			note_request(r, group);
		if (group)
			continue;
		if (signal == SIGUSR2 && r->retention.flight)
			r->retention.asked = true;
		else if (!r->ended)
			kill(r->child, signal);
	}
	signal_witness_forget(&r->witness);
	sigemptyset(&r->pending);
	r->pending_at = 0;
	if (r->asked_at)
		stop_point_release(&r->spot); /* a stopped program does not see the signal */
}

/* The longest sleep that is not noticeable. */
static uint64_t longest_sleep(const struct recording *r)
{
	if (r->pending_at)
		return SETTLE_MS / 2 * MS;
	if (r->set->running)
		return IDLE_CHECK_MS / 2 * MS;
	if (r->ended)
		return descendants_pause(&r->descendants);
	if (r->set->node)
		return (live_stats_has_viewer(r->vitals) || r->set->check ? IDLE_CHECK_MS
									  : IDLE_MS) *
		       MS;
	if (collector_is_idle(r->collector) && !live_stats_has_viewer(r->vitals))
		return r->retention.rotate_ns ? IDLE_ROTATE_MS * MS : IDLE_FOREVER;
	if (r->set->stop.finding || r->spot.nstopped || r->spot.core.writer)
		return IDLE_STOP_MS * MS;
	return (r->set->check || live_stats_has_viewer(r->vitals) ? IDLE_CHECK_MS : IDLE_MS) * MS;
}

static void sleep_until_due(struct recording *r, int fullest)
{
	uint64_t longest = longest_sleep(r), pause = alerts_pause(r->alerts);
	sigset_t signals;

	idle_wait(&r->idle, r->collector, fullest, longest < pause ? longest : pause, &signals);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&signals, signal) == 1)
			process_signal(r, signal);
}

/*
 * Report threads that continued unrecorded because the recorder, or the disk, stalled for too long.
 */
static void report_stalls(struct recording *r)
{
	uint32_t n = atomic_load(&r->session.page->gave_up);

	if (n == r->gave_up)
		return;
	if (!r->gave_up) {
		progress_clear(&r->progress);
		log_note("the recorder stalled for too long (--max-wait): the program has "
			 "continued without it, and events are lost");
	}
	r->gave_up = n;
}

/*
 * The program drives hardware queues by itself: reported once, and immediately, since nothing else
 * of the recording shows that posts are missing.
 */
static void report_bypass(void *arg, const char *function, uint32_t process)
{
	struct recording *r = arg;

	if (r->bypassed || r->progress.quiet || !evidence_is_bypassed(function))
		return;
	r->bypassed = true;
	progress_clear(&r->progress);
	log_note("process %u called %s(): posts and polls of its queue pairs may bypass the verbs, "
		 "and are then not recorded; UCX uses verbs with " EVIDENCE_UCX " (others: "
		 "verbatim-record(1))",
		 process, function);
}

/* Threads that have a ring continue: mapped memory needs no name. */
static void check_session(struct recording *r)
{
	if (r->gone || !access(r->session.dir, F_OK))
		return;
	r->gone = true;
	progress_clear(&r->progress);
	log_note("%s was removed: new programs and threads are not recorded", r->session.dir);
	if (!r->error && collector_note_session_gone(r->collector))
		fail_recording(r, -EIO);
}

/*
 * Has every process that could record ended? Not while it is unknown which ones a signal has
 * reached.
 */
static bool have_all_ended(struct recording *r)
{
	if (!r->ended || r->set->running)
		return r->ended;
	if (!r->error && (r->pending_at || !descendants_have_ended(&r->descendants)))
		return false;
	return !r->set->node || node_close(r->set->node, &r->session);
}

static int sample_counters(struct recording *r, bool at_once)
{
	const struct clock *clock = &r->session.clock;

	if (at_once)
		r->counters.next = 0;
	return device_counters_sample(&r->counters, r->writer,
				      clock_ns(clock, clock_ticks(clock->kind)));
}

static int update_trace(struct recording *r)
{
	int err = collector_update(r->collector);

	if (!err)
		err = sample_counters(r, false);
	if (!err)
		err = collector_write_losses(r->collector);
	if (!err)
		err = retention_update(&r->retention);
	return err;
}

/* Lost events are counted before later events are checked. */
static bool step_watch(struct recording *r, int fullest)
{
	int err = collector_write_losses(r->collector);

	if (err)
		fail_recording(r, err);
	return !err && watch_step(r->watch, collector_last_event(r->collector), fullest);
}

/* Run the readers of the trace that is being written. */
static bool step_followers(struct recording *r, int fullest)
{
	bool more = r->watch && step_watch(r, fullest);

	return (!r->error &&
		live_stats_step(r->vitals, collector_last_event(r->collector), fullest)) ||
	       more;
}

static void update_all(struct recording *r)
{
	int err = update_trace(r);

	if (err)
		fail_recording(r, err);
}

static void follow_program(struct recording *r)
{
	bool over = false;

	while (!over && !r->stop) {
		int fullest = collector_drain(r->collector);
		bool more = false;

		if (fullest < 0)
			fail_recording(r, fullest);
		else
			more = step_followers(r, fullest);
		more |= stop_point_check(&r->spot);
		if (clock_monotonic() - r->tended_at >= UPDATE_MS * MS) {
			r->tended_at = clock_monotonic();
			reap_child(r);
			update_all(r);
			check_session(r);
			report_stalls(r);
			alerts_update(r->alerts);
			progress_show(&r->progress, r->writer);
			over = have_all_ended(r);
		}
		pass_signals_on(r);
		if (!over)
			sleep_until_due(r, more ? 100 : fullest);
	}
}

static void drain_while_injecting(void *of)
{
	struct recording *r = of;

	collector_drain(r->collector);
}

/* Bring the recorder into a program that runs. Returns 0 or the exit status. */
static int attach_to_program(struct recording *r)
{
	const struct recording_running *running = r->set->running;
	sigset_t wake_by;

	sigemptyset(&wake_by);
	sigaddset(&wake_by, SIGINT);
	sigaddset(&wake_by, SIGTERM);
	sigaddset(&wake_by, SIGHUP);
	sigprocmask(SIG_BLOCK, &wake_by, NULL);
	r->child = running->pid;
	r->child_start = session_process_start(running->pid);
	if (running->begin(running->arg, r->session.dir, drain_while_injecting, r))
		return CLI_ENVIRONMENT;
	if (running->duration)
		r->until = clock_monotonic() + (uint64_t)running->duration;
	idle_start(&r->idle, &r->session, &wake_by);
	return 0;
}

static void detach_from_program(struct recording *r)
{
	const struct recording_running *running = r->set->running;

	if (!running || r->ended)
		return;
	running->end(running->arg, drain_while_injecting, r);
	collector_detach(r->collector);
}

/* Returns 0 or the exit status. */
static int start_program(struct recording *r)
{
	sigset_t wake_by;
	int err, status;

	if (r->set->running)
		return attach_to_program(r);
	if (r->set->node) {
		sigemptyset(&wake_by);
		idle_start(&r->idle, &r->session, &wake_by);
		return 0;
	}
	err = signal_witness_start(&r->witness);
	if (err) {
		log_err(err, "set up signal handling");
		return CLI_ENVIRONMENT;
	}
	r->child = r->set->held ? r->set->held->pid : 0;
	status = r->set->held ? launch_release(r->set->held, &r->witness.before)
			      : launch_program(r->set->program, &r->witness.before, &r->child);
	if (status)
		return status;
	collector_note_child(r->collector, r->child);
	wake_by = r->witness.signals;
	sigaddset(&wake_by, SIGCHLD);
	idle_start(&r->idle, &r->session, &wake_by);
	return 0;
}

static void report_end(struct recording *r, const struct totals *totals,
		       const struct writer_alarms *alarms, bool before)
{
	if (r->stop && !r->ended)
		log_note("the recording has ended; the program is left running (pid %d)",
			 (int)r->child);
	if (r->error && !before)
		log_note("%s is INCOMPLETE: it ends at the point where recording stopped",
			 r->set->path);
	progress_end(&r->progress, r->set->path, totals, r->set->check ? NULL : alarms, before);
}

static void report_no_process(struct recording *r)
{
	if (collector_count_processes(r->collector) || collector_has_unreadable(r->collector) ||
	    collector_has_unrecordable(r->collector) || r->error || r->progress.quiet)
		return;
	progress_clear(&r->progress);
	log_note("no process of '%s' called a verb, or it is statically linked or set-user-ID: "
		 "check with 'verbatim doctor PROGRAM'",
		 r->set->program[0]);
}

/* Report rings that could not grow: their threads waited, or dropped events, more often. */
static void report_withheld(struct recording *r)
{
	uint32_t n = atomic_load(&r->session.page->withheld);
	char text[FORMAT_TEXT];

	if (!n || r->progress.quiet)
		return;
	progress_clear(&r->progress);
	log_note(
		"%u ring%s could not grow: the limit of %s for the rings of a process was reached; "
		"their threads %s more often (raise --ring-budget)",
		n, n == 1 ? "" : "s",
		format_bytes(atomic_load(&r->session.page->withheld_budget), text),
		r->set->on_full == ON_FULL_DROP ? "dropped events" : "waited");
}

/* Commit once more, then end the standby process: from now on any reader can complete the trace. */
static void end_standby(struct recording *r)
{
	if (!r->standby.page)
		return;
	if (!r->error)
		writer_flush(r->writer);
	standby_dismiss(&r->standby);
	writer_on_commit(r->writer, NULL, NULL);
}

static int finish_recording(struct recording *r)
{
	struct writer_alarms alarms;
	struct totals totals;
	bool before, found;
	int err;

	alerts_notify_stopping(r->alerts);
	err = collector_finish(r->collector);
	if (err)
		fail_recording(r, err);
	report_no_process(r);
	err = sample_counters(r, true);
	if (!err)
		err = device_counters_store(&r->counters, r->writer);
	watch_finish(r->watch);
	live_stats_finish(r->vitals);
	live_stats_free(r->vitals);
	end_standby(r);
	err = writer_stop(r->writer, err);
	if (err)
		fail_recording(r, err);
	retention_finish(&r->retention);
	device_counters_end(&r->counters);
	totals = writer_totals(r->writer);
	alarms = writer_alarms(r->writer);
	before = writer_progress(r->writer).before;
	collector_free(r->collector);
	report_stalls(r);
	report_withheld(r);
	live_view_wait(r->onlooker);
	session_remove(&r->session);
	err = writer_finish(r->writer);
	redact_free(r->redact);
	alerts_free(r->alerts);
	if (err)
		fail_recording(r, err);
	found = watch_end(r->watch);
	signal_witness_stop(&r->witness);
	report_end(r, &totals, &alarms, before);
	if (!r->ended && !r->set->running)
		return 128 + r->asked;
	if (r->error && !r->status)
		return CLI_TRACE;
	return found && !r->status ? CLI_FINDINGS : r->status;
}

/* The program was not started: remove what we made. */
static int undo_prepare(struct recording *r, int status)
{
	signal_witness_stop(&r->witness);
	watch_free(r->watch);
	live_stats_free(r->vitals);
	device_counters_end(&r->counters);
	collector_free(r->collector);
	live_view_stop(r->onlooker);
	if (r->session.page)
		session_remove(&r->session);
	if (r->writer)
		writer_drop(r->writer, r->set->path);
	redact_free(r->redact);
	alerts_free(r->alerts);
	return status;
}

static int run_recording(struct recording *r)
{
	int status = recording_prepare(r) ? CLI_ENVIRONMENT : 0;

	if (status)
		return undo_prepare(r, status);
	progress_start(&r->progress, r->progress.quiet);
	status = start_program(r);
	if (status)
		return undo_prepare(r, status);
	writer_on_direct(r->writer, report_bypass, r);
	alerts_notify_ready(r->alerts);
	retention_start(&r->retention);
	r->spot = (struct stop_point){ .session = &r->session,
				       .writer = r->writer,
				       .progress = &r->progress,
				       .path = r->set->path };
	r->descendants = (struct descendants){ .dir = r->session.dir,
					       .collector = r->collector,
					       .progress = &r->progress,
					       .since = guests_mark(r->child),
					       .linger = r->set->linger };
	follow_program(r);
	detach_from_program(r);
	if (r->ended && !r->set->running)
		descendants_report_left(&r->descendants);
	stop_point_end(&r->spot);
	return finish_recording(r);
}

int recording_run(const struct recording_settings *settings)
{
	struct recording r = {
		.set = settings,
		.retention = settings->retention,
		.progress.quiet = settings->quiet,
	};

	return run_recording(&r);
}

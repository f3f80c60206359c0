/*
 * A replay in this process: its rounds, what the recorder could not see, its report
 *
 * The report is of the first round that differs, else of the first one that left something out,
 * else of the last one.
 *
 * Not here: the replay (replay/replay.c), what ends it early (replay_watch.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "cli/pager.h"
#include "cli/format.h"
#include "cli/replay/replay_junit.h"
#include "cli/replay/replay_priv.h"
#include "cli/replay/replay_watch.h"
#include "core/store/outfile.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"
#include "replay/report/alive_objects.h"
#include "replay/report/outcome.h"
#include "replay/report/rounds.h"
#include "replay/report/tolerate.h"

static int write_report(const struct outcome *outcome, const char *path)
{
	struct outfile out;
	int err = outfile_open(path, &out);

	if (!err) {
		outcome_json(outcome, out.file);
		err = outfile_close(&out, 0);
	}
	return cli_status(err);
}

/* Is @what lost data that does not affect the replayed verbs? */
static bool is_harmless(const char *what)
{
	static const char *const harmless[] = { "sites",         "modules", "polls",  "payload",
						"direct-linked", "imports", "sandbox" };

	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!strcmp(what, harmless[i]))
			return true;
	return false;
}

static void report_unseen(void *arg, const struct lookup_unobserved *unseen)
{
	struct outcome *outcome = arg;
	char n[FORMAT_TEXT], process[PROCESS_TEXT];

	format_count(unseen->times, n);
	process_id_text(unseen->process, process);
	if (is_harmless(unseen->what))
		outcome_note(outcome, "not in the trace: %s, %s time%s, first %s of %s",
			     unseen->what, n, unseen->times == 1 ? "" : "s", unseen->first,
			     process);
	else
		outcome_note_gap(
			outcome, "not in the trace, so not replayed: %s, %s time%s, first %s of %s",
			unseen->what, n, unseen->times == 1 ? "" : "s", unseen->first, process);
}

static void report_coverage(struct trace *trace, struct outcome *outcome)
{
	const char *filter = trace_meta(trace, "filter");

	if (filter && *filter)
		outcome_note_gap(outcome,
				 "left out by --filter %s, so not replayed: dependent events may "
				 "differ",
				 filter);
	lookup_visit_unobserved(trace, report_unseen, outcome);
}

static void report_loss(struct trace *trace, struct outcome *outcome)
{
	struct trace_loss loss = trace_loss(trace);
	char n[FORMAT_TEXT];

	if (trace_is_closed(trace))
		outcome_note(outcome,
			     "the trace begins at %s; of earlier requests it has only the "
			     "outstanding ones",
			     format_time(trace_cut(trace), n));
	else if (loss.events)
		outcome_note_gap(outcome,
				 "the recording lost %s event%s; dependent events may differ",
				 format_count(loss.events, n), loss.events == 1 ? "" : "s");
	if (loss.damaged)
		outcome_note_gap(outcome, "a part of the recording is unreadable");
	if (loss.interrupted)
		outcome_note(outcome, "the recording was cut short: later events are missing");
}

/* A replay of one or several rounds, and how its report is to be written. */
struct run {
	const struct replay_settings *set;
	const char *path;
	const char *part; /* description of the part that is replayed; NULL: all */
	struct tolerate *tolerate;
	struct outcome *outcome; /* of this round */
	/* outcome of the round that is shown: choose_shown_round(); NULL: none yet */
	struct outcome *shown;
	struct rounds rounds;
	double *times;
	uint64_t start; /* clock_monotonic() */
	int err, signal;
	bool late; /* --deadline has passed */
};

/* An error or the deadline comes first, then divergences, then events that were left out. */
static int status_of(const struct run *run)
{
	if (run->err)
		return (int)cli_status(run->err);
	if (outcome_divergences(run->outcome))
		return CLI_FINDINGS;
	if (outcome_is_whole(run->outcome) || run->set->allow_partial)
		return CLI_FINE;
	return CLI_FINDINGS;
}

static int print_reports(const struct run *run)
{
	int status = status_of(run), written = 0;

	if (run->set->format == REPLAY_JSON)
		outcome_json(run->outcome, stdout);
	else if (run->set->format == REPLAY_JUNIT)
		written = replay_junit(run->outcome, run->path, status, stdout);
	else
		outcome_text(run->outcome, stdout);
	if (!written && run->set->report)
		written = write_report(run->outcome, run->set->report);
	if (written)
		return CLI_ENVIRONMENT;
	if (status == CLI_FINDINGS && !outcome_divergences(run->outcome) &&
	    !outcome_stopped(run->outcome))
		log_note("replay: a part of the recording was not replayed, so the exit status is "
			 "1; with --allow-partial it is 0");
	return status;
}

/* The replay hangs in its device: print the report so far, and end. */
static void finish_hung(void *arg, int number)
{
	struct run *run = arg;

	if (!number)
		run->err = -ETIME;
	print_reports(run);
	fflush(stdout);
	if (number) {
		signal(number, SIG_DFL);
		raise(number);
	}
	_exit(CLI_TRACE);
}

/* All live objects stay alive for a debugger. */
static void wait_for_debugger(const struct alive_objects *moment)
{
	int pid = (int)getpid();

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	alive_objects_text(moment, stderr);
	if (!moment->nobjects)
		log_note("replay: the recorded programs had destroyed all objects by then; "
			 "give an earlier time or event with --to");
	log_note("replay: process %d holds the objects until Enter or a signal (kill -INT %d); gdb "
		 "-p %d -ex 'p *replay_moment->objects@replay_moment->nobjects'",
		 pid, pid, pid);
	replay_watch_hold();
}

static bool is_last_round(const struct run *run)
{
	return run->rounds.done + 1 >= run->rounds.warmup + (run->set->loop ?: 1);
}

static struct replay_options options_of(const struct run *run)
{
	struct replay_options options = run->set->replay;

	if (isatty(STDERR_FILENO))
		options.tell = NULL; /* the watch rewrites a line instead */
	options.moment = is_last_round(run) && (run->set->wait || run->set->slice.range.to.text);
	options.look = is_last_round(run) && run->set->wait ? wait_for_debugger : NULL;
	return options;
}

static int begin_round(struct trace *trace, struct run *run)
{
	int err = outcome_new(&run->outcome);

	if (!err && run->part)
		err = outcome_set_part(run->outcome, run->part);
	if (err)
		return log_err(err, "make a report");
	outcome_set_trace(run->outcome, run->path, trace);
	outcome_set_tolerate(run->outcome, run->tolerate);
	if (run->set->fail_fast)
		outcome_set_fail_fast(run->outcome);
	report_loss(trace, run->outcome);
	report_coverage(trace, run->outcome);
	return 0;
}

/*
 * Start the watch not before the replayed processes were forked: if its thread is inside the
 * allocator during a fork, the child finds the allocator's lock held forever, unless the allocator
 * handles forks (a sanitizer's does not).
 */
static void start_watch(void *watch)
{
	replay_watch_start(watch);
}

/* One round, watched. */
static void play_round(struct trace *trace, struct run *run)
{
	struct replay_options options = options_of(run);
	int64_t spent = (int64_t)(clock_monotonic() - run->start);
	struct replay_watch watch = { .outcome = run->outcome,
				      .total = trace_events(trace),
				      .finish = finish_hung,
				      .arg = run };

	if (run->set->deadline)
		watch.deadline = run->set->deadline > spent ? run->set->deadline - spent : 1;
	options.forked = start_watch;
	options.arg = &watch;
	run->err = replay_run(trace, &options, run->outcome);
	run->signal = replay_watch_stop(&run->late);
}

/* The first round that differs, or else the first one that left something out. */
static void choose_shown_round(struct run *run, bool stopped)
{
	bool differs = outcome_divergences(run->outcome);
	bool partial = !stopped && !run->set->allow_partial && !outcome_is_whole(run->outcome);

	if (differs ? run->rounds.differing++ : run->shown || !partial)
		return;
	if (run->shown)
		outcome_free(run->shown);
	run->shown = run->outcome;
	run->rounds.shown = run->rounds.done + 1;
}

/* End a round. Returns whether another one follows. */
static bool end_round(struct run *run)
{
	struct rounds *rounds = &run->rounds;
	bool stopped, last;

	if (run->late && !run->err)
		run->err = -ETIME;
	if (run->err)
		outcome_stop(run->outcome,
			     run->err == -ETIME ? "ended by --deadline" : "ended by an error");
	stopped = run->err || run->signal || outcome_stopped(run->outcome);
	choose_shown_round(run, stopped);
	if (run->times && rounds->done >= rounds->warmup)
		run->times[rounds->done - rounds->warmup] = outcome_seconds(run->outcome);
	last = stopped || is_last_round(run);
	if (!stopped)
		rounds->done++;
	if (!last && run->shown != run->outcome)
		outcome_free(run->outcome);
	return !last;
}

static int play_rounds(struct trace *trace, struct run *run)
{
	int err;

	do {
		err = begin_round(trace, run);
		if (err)
			return err;
		play_round(trace, run);
		if (run->err && !outcome_total(run->outcome, OUTCOME_SEEN) && !run->rounds.done)
			return run->err; /* the replay has not begun */
	} while (end_round(run));
	return 0;
}

static int report_rounds(struct run *run)
{
	struct outcome *last = run->outcome;
	struct rounds *rounds = &run->rounds;
	int status;

	if (run->times) {
		rounds->wanted = run->set->loop ?: 1;
		if (rounds->done > rounds->warmup)
			rounds_measure(rounds, run->times, rounds->done - rounds->warmup);
	}
	if (run->shown)
		run->outcome = run->shown;
	if (run->times)
		outcome_set_rounds(run->outcome, rounds);
	replay_watch_leave();
	if (!run->signal && !common.no_pager)
		pager_offer();
	status = print_reports(run);
	fflush(stdout);
	if (run->outcome != last)
		outcome_free(last);
	return status;
}

int replay_in_process(struct trace *trace, const struct replay_settings *set, const char *path,
		      const char *part, struct tolerate *tolerate)
{
	struct run run = { .set = set,
			   .path = path,
			   .part = part,
			   .tolerate = tolerate,
			   .rounds.warmup = set->warmup,
			   .start = clock_monotonic() };
	int status, err;

	if (set->loop || set->warmup)
		run.times = calloc(set->loop ?: 1, sizeof(*run.times));
	if ((set->loop || set->warmup) && !run.times)
		return cli_status(log_err(-ENOMEM, "replay in a loop"));
	if (!isatty(STDERR_FILENO))
		cli_show_progress("replay", trace);
	err = play_rounds(trace, &run);
	status = err ? (int)cli_status(err) : report_rounds(&run);
	outcome_free(run.outcome);
	free(run.times);
	if (run.signal) {
		signal(run.signal, SIG_DFL);
		raise(run.signal);
	}
	return status;
}

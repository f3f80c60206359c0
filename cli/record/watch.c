/*
 * The check of a program that is still running
 *
 * 	seen (collector) - WINDOW --> cursor extended each ROUND --> check --> stderr
 *
 * Rings are read one after the other, and an event has the time at which its verb began, but is
 * published when the verb has returned. So the check stays WINDOW behind. Events that are published
 * even later arrive out of order.
 *
 * Before events are checked, the losses up to them are known (recording.c), and rules that need the
 * lost events report nothing from then on. Findings from before the loss, or from events out of
 * order, are checked once more when the trace is finished.
 *
 * Not here: rules and reports (analyzer/), the trace as it is read while it is written
 * (core/store/read/live.c), the check of the finished trace (recheck.c).
 */
#include "cli/record/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/check.h"
#include "analyzer/report/known.h"
#include "analyzer/report/groups.h"
#include "analyzer/report/report.h"
#include "analyzer/report/row.h"
#include "cli/record/follow.h"
#include "cli/record/guests.h"
#include "cli/record/live_stats.h"
#include "cli/record/recheck.h"
#include "cli/screen.h"
#include "core/wire/log.h"

#define MS 1000000

enum {
	WINDOW_NS = 100 * MS, /* how much later than others an event may be published */
	ROUND_NS = 100 * MS,
	STOP_WINDOW_NS = 20 * MS, /* with --stop-on: sooner after the event, in smaller chunks */
	STOP_ROUND_NS = 10 * MS,
	BUSY = 25, /* percent of a ring: reading comes first */
	TELL_NS = 1000 * MS,
};

struct watch {
	struct watch_options options;
	struct follow follow;
	struct checker *checker;
	struct report report;
	bool told[RULE_COUNT];
	size_t errors, findings; /* number of errors and findings printed so far */
	struct map shown;        /* causes of errors that were shown */
	size_t stored;           /* findings stored in the trace, or before a rotation */
	uint64_t *stored_times;  /* their number of occurrences when stored */
	uint64_t *said;          /* for each finding: its number of occurrences when printed */
	struct printed_list printed;
	bool unsure;        /* some findings may change in the finished trace */
	bool again;         /* the finished trace must be checked again */
	bool found;         /* there are findings for which `verbatim check` ends with 1 */
	bool over;          /* after a failure */
	bool behind;        /* it was reported that the check is behind */
	pid_t stopped;      /* the last process that --stop-on has stopped */
	int64_t stopped_at; /* time of the trace */
};

static void close_watch(struct watch *w)
{
	live_stats_detach(w->options.vitals);
	w->options.vitals = NULL;
	check_close(w->checker);
	w->checker = NULL;
	follow_close(&w->follow);
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	close_watch(w);
	symbols_close(w->report.symbols);
	map_fini(&w->shown);
	printed_list_fini(&w->printed);
	free(w->said);
	free(w->stored_times);
	free(w);
}

int watch_new(const struct watch_options *options, struct watch **ret_watch)
{
	struct watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return log_err(-ENOMEM, "start the check");
	w->options = *options;
	err = follow_open(&w->follow, options->writer);
	if (!err)
		err = live_stats_attach(options->vitals, w->follow.trace);
	if (!err)
		err = check_open(w->follow.trace, &options->check->check, &w->checker);
	if (!err)
		err = symbols_open(&w->report.symbols);
	if (err) {
		watch_free(w);
		return err;
	}
	w->report.trace = w->follow.trace;
	w->report.path = options->path;
	w->report.known = options->known;
	w->report.full = options->check->preset != PRESET_NONE;
	*ret_watch = w;
	return 0;
}

static void fail_watch(struct watch *w)
{
	w->over = true;
	close_watch(w);
	progress_clear(w->options.progress);
	log_note("the check has stopped; the recording continues: run `verbatim check %s` "
		 "afterwards",
		 w->options.path);
}

/* A block is printed by one write, so that it stays together among the program's own output. */

struct block {
	char *text;
	size_t size;
};

static bool block_begin(struct watch *w, struct block *block)
{
	w->report.out = open_memstream(&block->text, &block->size);
	return w->report.out;
}

static void block_end(struct watch *w, struct block *block)
{
	fclose(w->report.out);
	progress_clear(w->options.progress);
	if (block->text)
		screen_write(STDERR_FILENO, block->text, block->size);
	free(block->text);
}

/* Stopping the program */

static void stop_process(struct watch *w, uint32_t process, int64_t time)
{
	const struct process *p = trace_process(w->follow.trace, process);
	const struct clock *clock = &w->options.session->clock;

	if (!w->options.stop || !p || (w->stopped == p->pid && time <= w->stopped_at))
		return; /* the failure had happened before the stop */
	if (!guests_is_started_in(p->pid, w->options.session->dir) || kill(p->pid, SIGSTOP)) {
		log_note("process %u (pid %d) could not be stopped: it has ended, or is not "
			 "visible",
			 process, p->pid);
		return;
	}
	w->stopped = p->pid;
	w->stopped_at = clock_ns(clock, clock_ticks(clock->kind));
	log_note("process %u is stopped (pid %d): `gdb -p %d` to debug it, `kill -CONT %d` to "
		 "continue",
		 process, p->pid, p->pid, p->pid);
}

/* New errors and findings */

/* Errors with one cause are shown once. */
static bool was_shown(struct watch *w, const struct first_error *error)
{
	uint64_t key = group_key_of_error(w->follow.trace, error), shown;

	if (map_get(&w->shown, key, &shown))
		return true;
	map_put(&w->shown, key, 1);
	return false;
}

static void show_error(struct watch *w, const struct first_error *error)
{
	struct block block = { 0 };

	if (!was_shown(w, error) && block_begin(w, &block)) {
		report_print_error(&w->report, error);
		block_end(w, &block);
	}
	stop_process(w, error->process, error->time);
}

static void show_finding(struct watch *w, const struct finding *finding)
{
	struct block block = { 0 };

	if (block_begin(w, &block)) {
		report_print_finding(&w->report, finding, w->told);
		block_end(w, &block);
	}
	if (rules[finding->rule].severity == 'E')
		stop_process(w, finding->process, finding->time);
}

static void report_finding_row(struct watch *w, const struct finding *finding)
{
	char fingerprint[FINGERPRINT];
	struct stored_finding row;
	struct text says = { 0 };

	if (!w->options.each)
		return;
	row = row_of_finding(&w->report, finding, fingerprint, &says);
	w->options.each(w->options.each_arg, &row);
	text_fini(&says);
}

static int show_findings(struct watch *w, const struct findings *findings)
{
	uint64_t *said;

	w->report.findings = findings;
	for (; w->errors < findings->facts->errors.n; w->errors++)
		show_error(w, &findings->facts->errors.all[w->errors]);
	if (w->findings == findings->n)
		return 0;
	said = realloc(w->said, findings->n * sizeof(*said));
	if (!said)
		return log_err(-ENOMEM, "print findings");
	w->said = said;
	suppressions_mark_findings(w->options.known, &w->report);
	for (; w->findings < findings->n; w->findings++) {
		said[w->findings] = findings->all[w->findings]->site->count;
		if (findings->all[w->findings]->known != FINDING_NEW)
			continue;
		report_finding_row(w, findings->all[w->findings]);
		show_finding(w, findings->all[w->findings]);
		if (printed_list_add(&w->printed, findings->all[w->findings]))
			return -ENOMEM;
	}
	return 0;
}

/* Steps */

static int check_and_show(void *arg, const struct trace_event *event)
{
	struct watch *w = arg;
	int err = check_event(w->checker, event);

	if (!err)
		err = show_findings(w, check_findings(w->checker));
	if (!err)
		live_stats_count_event(w->options.vitals, event);
	return err;
}

static int extend_cursor(struct watch *w, int64_t to)
{
	int err = follow_extend(&w->follow, to);

	if (!err)
		err = check_gaps(w->checker);
	w->unsure |= err > 0;
	return err < 0 ? err : 0;
}

static void report_lag(struct watch *w, int64_t seen)
{
	bool behind = w->follow.more && seen - w->follow.now > TELL_NS;

	if (behind && !w->behind) {
		progress_clear(w->options.progress);
		log_note("the check has fallen behind the program and continues later; no event "
			 "is lost");
	}
	w->behind = behind || (w->behind && w->follow.more);
}

bool watch_step(struct watch *w, int64_t seen, int fullest)
{
	bool stop = w->options.stop;
	uint64_t start = clock_monotonic();
	int more = 0;

	if (w->over)
		return false;
	if (!w->follow.more) {
		if (start - w->follow.extended_at < (uint64_t)(stop ? STOP_ROUND_NS : ROUND_NS))
			return false;
		more = extend_cursor(w, seen - (stop ? STOP_WINDOW_NS : WINDOW_NS));
		w->follow.now = seen;
	}
	report_lag(w, seen);
	if (more >= 0 && fullest > BUSY)
		return true;
	more = more < 0 ? more : follow_for_slice(&w->follow, start, check_and_show, w);
	if (more < 0)
		fail_watch(w);
	return more > 0;
}

void watch_read_until(struct watch *w, int64_t time)
{
	int err = 0;

	if (!w || w->over)
		return;
	if (w->follow.more)
		err = follow_to_end(&w->follow, check_and_show, w);
	if (!err && w->follow.to < time)
		err = extend_cursor(w, time) ?: follow_to_end(&w->follow, check_and_show, w);
	if (err)
		fail_watch(w);
}

/* The end */

/* Print findings that have occurred again since they were printed, and the summary. */
static void show_summary(struct watch *w, const struct findings *findings)
{
	struct block block = { 0 };

	for (size_t i = 0; i < findings->n; i++)
		if (findings->all[i]->site->group && findings->all[i]->site->count > w->said[i] &&
		    findings->all[i]->known == FINDING_NEW)
			show_finding(w, findings->all[i]);
	if (block_begin(w, &block)) {
		report_print_unchecked(&w->report);
		fputc('\n', w->report.out);
		report_screen(&w->report);
		block_end(w, &block);
	}
}

/* Report uncertain findings: the trace lacks parts (elsewhere, deleted) and cannot be rechecked. */
static void report_uncertain(struct watch *w, const struct findings *findings)
{
	uint64_t late = cursor_late_events(w->follow.cursor);

	for (size_t i = 0; i < findings->n; i++)
		if (findings->skip[findings->all[i]->rule])
			findings->all[i]->known |= FINDING_UNCERTAIN;
	printed_list_retract(&w->printed, findings);
	if (late)
		log_note("%" PRIu64 " events came too late to be checked in order: `verbatim "
			 "check %s` may report more or fewer findings",
			 late, w->options.path);
}

static int store_finding(struct watch *w, const struct finding *f, uint64_t n)
{
	char fingerprint[FINGERPRINT];
	struct text says = { 0 };
	struct stored_finding row = row_of_finding(&w->report, f, fingerprint, &says);
	int err;

	row.count = n;
	err = writer_store_finding(w->options.writer, &row);
	text_fini(&says);
	return err;
}

/* Store findings that are new, or whose number has grown, since the last time. */
static int store_findings(struct watch *w, const struct findings *findings)
{
	uint64_t *stored = realloc(w->stored_times, (findings->n + 1) * sizeof(*stored));
	int err = 0;

	if (!stored)
		return log_err(-ENOMEM, "store findings");
	w->stored_times = stored;
	for (; w->stored < findings->n; w->stored++)
		stored[w->stored] = 0;
	for (size_t i = 0; i < findings->n && !err; i++) {
		const struct finding *f = findings->all[i];
		uint64_t before = stored[i];

		stored[i] = finding_times(f);
		if (stored[i] > before && !findings->skip[f->rule] && f->known == FINDING_NEW)
			err = store_finding(w, f, stored[i] - before);
	}
	return err;
}

static int store_fact(void *arg, const struct stored_finding *row)
{
	return writer_store_finding(arg, row);
}

void watch_store(struct watch *w)
{
	if (w && !w->over && store_findings(w, check_findings(w->checker)))
		fail_watch(w);
}

static int finish_watch(struct watch *w)
{
	struct findings *findings;
	int err;

	/* a process that has ended cannot be stopped, and one that has not is no longer recorded */
	w->options.stop = false;
	err = extend_cursor(w, INT64_MAX);
	if (!err)
		err = follow_to_end(&w->follow, check_and_show, w);
	live_stats_finish(w->options.vitals);
	w->again =
		!err && !w->options.in_parts && (w->unsure || cursor_late_events(w->follow.cursor));
	if (w->again) {
		close_watch(w);
		return 0;
	}
	if (!err)
		err = check_finish(w->checker, &findings);
	else
		check_close(w->checker);
	w->checker = NULL;
	if (err)
		return err;
	err = show_findings(w, findings);
	report_uncertain(w, findings);
	suppressions_mark_facts(w->options.known, &w->report);
	if (!err) {
		show_summary(w, findings);
		err = row_for_each_fact(&w->report, 0, store_fact, w->options.writer);
	}
	if (!err)
		err = store_findings(w, findings);
	suppressions_report(w->options.known, findings);
	if (!err && w->options.check->write_baseline)
		put_baseline(w->options.check->write_baseline, &w->report);
	w->found = check_is_bad(findings);
	findings_free(findings);
	return err;
}

void watch_finish(struct watch *w)
{
	if (w && !w->over && finish_watch(w))
		fail_watch(w);
	if (w)
		close_watch(w); /* before the writer is finished */
}

bool watch_end(struct watch *w)
{
	bool found = w && w->found;

	if (w && w->again && recheck_trace(w->options.path, w->options.check, &w->printed, &found))
		log_note("the check has stopped: `verbatim check %s`", w->options.path);
	watch_free(w);
	return found;
}

/*
 * Messages of the recorder while and after it records
 */
#include "cli/record/progress.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/format.h"
#include "core/base/text.h"
#include "core/wire/log.h"

enum { EVERY_NS = 500000000 };

void progress_start(struct progress *progress, bool quiet)
{
	*progress = (struct progress){
		.quiet = quiet,
		.live = !quiet && isatty(STDERR_FILENO),
		.last = clock_monotonic(),
	};
}

static void put_terminal(const char *text, int n)
{
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		return; /* there is no way to report it */
}

void progress_clear(struct progress *progress)
{
	if (progress->shown)
		put_terminal("\r\033[K", 4);
	progress->shown = false;
}

void progress_show(struct progress *progress, const struct writer *writer)
{
	char line[160], events[FORMAT_TEXT], rate[FORMAT_TEXT], bytes[FORMAT_TEXT],
		lost[FORMAT_TEXT];
	uint64_t now = clock_monotonic(), since = now - progress->last;
	struct writer_progress p;

	if (!progress->live || since < EVERY_NS)
		return;
	p = writer_progress(writer);
	put_terminal(line,
		     snprintf(line, sizeof(line), "\r\033[Kverbatim: %s events, %s/s, %s lost, %s",
			      format_count(p.events, events),
			      format_count((uint64_t)((double)(p.events - progress->events) * 1e9 /
						      (double)since),
					   rate),
			      format_count(p.lost, lost), format_bytes(p.bytes, bytes)));
	progress->shown = true;
	progress->last = now;
	progress->events = p.events;
}

/* "t.db: 2 processes, 1,414 events, 0 lost, 209 kB, 344 ms" */
static void report_totals(const struct progress *progress, const char *path,
			  const struct totals *totals)
{
	char events[FORMAT_TEXT], lost[FORMAT_TEXT], bytes[FORMAT_TEXT], time[FORMAT_TEXT];
	struct stat st = { 0 };

	if (stat(path, &st) && !progress->failed)
		log_note("%s was moved during the recording; the trace is in the moved file", path);
	log_note("%s: %u process%s, %s event%s, %s lost, %s, %s", path, totals->processes,
		 totals->processes == 1 ? "" : "es", format_count(totals->events, events),
		 totals->events == 1 ? "" : "s", format_count(totals->lost, lost),
		 format_bytes((uint64_t)st.st_size, bytes), format_time(totals->duration, time));
	if (totals->overwritten)
		log_note("%s: the end of the recording; %s older events were discarded", path,
			 format_count(totals->overwritten, events));
}

static void add_failure(struct text *text, uint64_t n, const char *one, const char *several)
{
	char count[FORMAT_TEXT];

	if (n)
		text_addf(text, "%s%s %s", text->used ? ", " : "", format_count(n, count),
			  n == 1 ? one : several);
}

bool progress_failures(struct text *text, const char *path, const struct writer_alarms *alarms)
{
	add_failure(text, alarms->failed, "verb failed", "verbs failed");
	add_failure(text, alarms->errors, "completion in error", "completions in error");
	add_failure(text, alarms->fatal, "fatal event", "fatal events");
	add_failure(text, alarms->crashes, "process killed", "processes killed");
	if (text->used)
		text_addf(text, ": verbatim check %s", path);
	return text->used;
}

static void report_failures(const char *path, const struct writer_alarms *alarms)
{
	struct text text = { 0 };

	if (alarms && progress_failures(&text, path, alarms) && !text.failed)
		log_note("%s", text.at);
	text_fini(&text);
}

void progress_end(struct progress *progress, const char *path, const struct totals *totals,
		  const struct writer_alarms *alarms, bool before)
{
	char lost[FORMAT_TEXT];

	progress_clear(progress);
	if (before && !progress->quiet)
		log_note("nothing was recorded: %s is still the previous trace", path);
	else if (!progress->quiet)
		report_totals(progress, path, totals);
	if (!before && !progress->quiet)
		report_failures(path, alarms);
	if (totals->lost)
		log_note("%s: %s events were lost%s", path, format_count(totals->lost, lost),
			 progress->failed ? "" : "; see `verbatim info` for the reasons");
}

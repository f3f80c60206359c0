/*
 * The check and the numbers of a program that still runs: watch_test.txt
 *
 * Stories are recorded, and followed in steps while they are: what is printed about each step, what
 * is kept in the trace, and what the metrics are at the end.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/check_options.h"
#include "cli/command.h"
#include "cli/record/alerts.h"
#include "cli/record/progress.h"
#include "cli/record/live_stats.h"
#include "cli/record/watch.h"
#include "core/store/db/finding.h"
#include "core/wire/session.h"
#include "tests/core/store/example.h"
#include "tests/printed.h"
#include "tests/transcript.h"

/* The name is in the output, so its length decides where lines end. */
#define TRACE "live.db"

static char folder[256];
static int before;

static struct text out;
static struct session session;
static struct progress progress = { .quiet = true };
static char metrics[256];

static void put_finding(void *arg, const struct stored_finding *finding)
{
	alerts_note_finding(arg, finding);
	text_addf(&out, "new: %s of %s at %u:%u, %s\n", finding->rule, finding->object ?: "-",
		  (unsigned int)finding->event.thread, (unsigned int)finding->event.n,
		  finding->severity);
}

static void put_metrics(void)
{
	FILE *file = fopen(metrics, "r");
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "verbatim_trace_bytes ", 21) != 0)
			text_addf(&out, "%s", line);
	fclose(file);
	unlink(metrics);
}

struct story {
	const char *name;
	struct check_settings check;
	bool in_parts, stop;
	int64_t steps[6]; /* ns; up to the first 0 */
	int64_t seen;     /* of one step by the clock; 0: none */
	int fullest;
	bool has_metrics, loses;
};

struct followed {
	struct check_settings check;
	struct suppressions *known;
	struct alerts *alerts;
	struct live_stats *vitals;
	struct watch *watch;
};

static void begin_following(struct followed *f, const struct story *story)
{
	const struct alerts_settings alerts = { .metrics = metrics, .check = true };
	struct watch_options options = { .session = &session,
					 .writer = example.writer,
					 .progress = &progress,
					 .path = TRACE,
					 .check = &f->check,
					 .each = put_finding,
					 .stop = story->stop,
					 .in_parts = story->in_parts };

	*f = (struct followed){ .check = story->check };
	snprintf(metrics, sizeof(metrics), "%s", make_path("metrics"));
	assert_int_equal(check_settings_open("record", &f->check, &f->known), 0);
	assert_int_equal(alerts_new(&alerts, TRACE, true, &f->alerts), 0);
	assert_int_equal(live_stats_new(&session, example.writer, false, &f->vitals), 0);
	alerts_attach(f->alerts, example.writer, f->vitals);
	options.known = f->known;
	options.vitals = f->vitals;
	options.each_arg = f->alerts;
	assert_int_equal(watch_new(&options, &f->watch), 0);
}

static void follow_until(struct followed *f, int64_t time)
{
	text_addf(&out, "-- until %lld us\n", (long long)time / 1000);
	printed_begin(true);
	watch_read_until(f->watch, time);
	watch_store(f->watch);
	printed_end(&out);
}

static void end_following(struct followed *f, bool has_metrics)
{
	struct totals totals;
	bool found;

	for (int i = 0; i < EXAMPLE_ENDS; i++)
		make_end(&example.ends[i].m);
	text_addf(&out, "-- the end\n");
	printed_begin(true);
	watch_finish(f->watch);
	live_stats_finish(f->vitals);
	printed_end(&out);
	live_stats_free(f->vitals);
	totals = writer_totals(example.writer);
	assert_int_equal(writer_finish(example.writer), 0);
	printed_begin(true);
	found = watch_end(f->watch);
	progress_end(&progress, TRACE, &totals, NULL, false);
	printed_end(&out);
	text_addf(&out, "found %d\n", found);
	alerts_free(f->alerts);
	suppressions_close(f->known);
	if (has_metrics)
		put_metrics();
	else
		unlink(metrics);
}

static void put_stored(void)
{
	char *words[] = { "sql", TRACE,
			  "SELECT rule, severity, object, count, message FROM finding", NULL };

	text_addf(&out, "-- stored\n");
	printed_begin(true);
	assert_int_equal(command_find("sql")->run(3, words), 0);
	printed_end(&out);
	unlink(example.path);
	unlink(TRACE);
}

/* A step as the recorder makes them: it stays behind what was seen. */
static void step_once(struct followed *f, const struct story *story)
{
	bool more;

	text_addf(&out, "-- seen until %lld us\n", (long long)story->seen / 1000);
	printed_begin(true);
	more = watch_step(f->watch, story->seen, story->fullest);
	printed_end(&out);
	text_addf(&out, "more %d\n", more);
}

/* The next three events of the first process cannot be read. */
static void lose_events(void)
{
	text_addf(&out, "-- three events of thread 1 are damaged\n");
	assert_int_equal(writer_note_damage(example.writer, example.ends[0].m.thread, 640, 3), 0);
}

static void show_story(const struct story *story)
{
	struct followed f;

	text_addf(&out, "== %s\n", story->name);
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	assert_int_equal(symlink(example.path, TRACE), 0);
	begin_following(&f, story);
	example_story(&example);
	writer_end_process(example.writer, 200, 900000, 9);
	if (story->seen)
		step_once(&f, story);
	for (const int64_t *step = story->steps; *step; step++)
		follow_until(&f, *step);
	if (story->loses)
		lose_events();
	end_following(&f, story->has_metrics);
	put_stored();
}

#define WINDOW 100000000

/* clang-format off */
static const struct story stories[] = {
	{ .name = "in steps", .check.fail_on = FAIL_WARNING, .has_metrics = true,
	  .steps = { 1000, 250000, 450000, 620000 } },
	{ .name = "at once", .check.fail_on = FAIL_WARNING },
	{ .name = "errors, in parts", .check = { .preset = PRESET_ERRORS, .fail_on = FAIL_ERROR },
	  .in_parts = true, .steps = { 450000, 450000 } },
	{ .name = "all, and hazards count",
	  .check = { .preset = PRESET_ALL, .fail_on = FAIL_HAZARD }, .steps = { 450000 },
	  .has_metrics = true },
	{ .name = "performance", .check.preset = PRESET_PERFORMANCE },
	{ .name = "with losses", .steps = { 450000 }, .loses = true },
	{ .name = "with losses, in parts", .steps = { 450000 }, .loses = true, .in_parts = true },
	{ .name = "by the clock", .seen = WINDOW + 400001 },
	{ .name = "by the clock, too early", .seen = WINDOW + 400000 },
	{ .name = "by the clock, while rings are full", .seen = WINDOW + 400001, .fullest = 26 },
	{ .name = "by the clock, while they are nearly", .seen = WINDOW + 400001, .fullest = 25 },
	{ .name = "to stop the program", .stop = true, .seen = WINDOW / 5 + 400001 },
	{ .name = "to stop the program, too early", .stop = true, .seen = WINDOW / 5 + 400000 },
};
/* clang-format on */

static int enter_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s-XXXXXX", make_path("live"));
	before = open(".", O_RDONLY | O_DIRECTORY);
	return before < 0 || !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

GROUP(enter_folder, leave_folder);

TEST(what_is_printed_of_a_running_program_is_in_the_transcript)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++)
		show_story(&stories[i]);
	assert_int_equal(fchdir(before), 0);
	transcript_expect(__FILE__, &out);
}

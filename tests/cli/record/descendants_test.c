/*
 * Which processes a recording waits for after its program has ended
 *
 * Processes, their groups and the time are the test's: pid 50 has been there before the program,
 * 100; others are its descendants.
 */
#include "cli/record/descendants.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/printed.h"
#include "tests/test.h"

enum { BEFORE = 50, PROGRAM = 100, MOST = 8, OWN_GROUP = 7 };

#define MS 1000000ull

static struct process {
	pid_t pid, group;
	bool recorded;
} processes[MOST];
static int nprocesses, nscans;
static bool grows, is_busy;
static uint64_t now_ns;
static struct progress progress;
static struct descendants d;
static struct text said;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = (time_t)(now_ns / 1000000000),
				       .tv_nsec = (long)(now_ns % 1000000000) };
	return 0;
}

static const struct process *find_process(pid_t pid)
{
	for (int i = 0; i < nprocesses; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	fail_msg("no process %d", (int)pid);
	return NULL;
}

pid_t getpgid(pid_t pid)
{
	return find_process(pid)->group;
}

pid_t getpgrp(void)
{
	return OWN_GROUP;
}

bool collector_has_guest(const struct collector *collector, pid_t pid)
{
	assert_ptr_equal(collector, &d);
	return find_process(pid)->recorded;
}

bool collector_has_live_rings(const struct collector *collector)
{
	assert_ptr_equal(collector, &d);
	return is_busy;
}

bool guests_grow_since(const struct guests_moment *moment)
{
	assert_int_equal(moment->pid, PROGRAM);
	return grows;
}

unsigned int guests_visit(const char *dir, bool (*may_be)(void *arg, pid_t pid),
			  void (*visit)(void *arg, pid_t pid), void *arg)
{
	unsigned int n = 0;

	assert_string_equal(dir, "/sessions/x");
	nscans++;
	for (int i = 0; i < nprocesses; i++)
		if (!may_be || may_be(arg, processes[i].pid)) {
			visit(arg, processes[i].pid);
			n++;
		}
	return n;
}

static int begin_end(void **state)
{
	(void)state;
	nprocesses = nscans = 0;
	grows = true;
	is_busy = false;
	now_ns = 100000 * MS;
	progress = (struct progress){ 0 };
	d = (struct descendants){ .dir = "/sessions/x",
				  .collector = (const struct collector *)&d,
				  .progress = &progress,
				  .since.pid = PROGRAM,
				  .linger = (int64_t)(3000 * MS),
				  .ended_at = now_ns };
	text_cut(&said, 0);
	return 0;
}

static int end_end(void **state)
{
	(void)state;
	text_fini(&said);
	return 0;
}

FIXTURE(begin_end, end_end);

static void add_process(pid_t pid, bool recorded, pid_t group)
{
	processes[nprocesses++] = (struct process){ pid, group, recorded };
}

static bool is_over_at(uint64_t ms)
{
	bool over;

	now_ns = d.ended_at + ms * MS;
	printed_begin(true);
	over = descendants_have_ended(&d);
	printed_end(&said);
	return over;
}

static void expect_said(const char *text)
{
	assert_string_equal(said.at ?: "", text);
	text_cut(&said, 0);
}

TEST(nothing_is_waited_for_if_nothing_runs)
{
	assert_true(is_over_at(0));
	assert_int_equal(nscans, 2); /* the second finds what was forked meanwhile */
}

TEST(events_that_were_not_read_are)
{
	is_busy = true;
	assert_false(is_over_at(0));
	is_busy = false;
	assert_true(is_over_at(1)); /* at once, not at the next scan */
}

TEST(one_that_has_called_a_verb_is_waited_for)
{
	add_process(101, true, OWN_GROUP);
	assert_false(is_over_at(0));
	assert_int_equal(nscans, 1);
	assert_false(is_over_at(49));
	assert_int_equal(nscans, 1);
	assert_false(is_over_at(50));
	assert_int_equal(nscans, 2);
	assert_false(is_over_at(1999));
	expect_said("");
	assert_false(is_over_at(2000 + 499));
	expect_said("verbatim: the program has ended; 1 of its descendants still runs (pid 101): "
		    "Ctrl-C ends the recording\n");
	assert_false(is_over_at(100000));
	expect_said("");
	nprocesses = 0;
	assert_true(is_over_at(200000));
}

/* After two seconds /proc is read twice a second. */
TEST(scans_get_rare)
{
	add_process(101, true, OWN_GROUP);
	assert_int_equal(descendants_pause(&d), 50 * MS);
	assert_false(is_over_at(1));
	now_ns = d.ended_at + 2000 * MS - 1;
	assert_int_equal(descendants_pause(&d), 50 * MS);
	now_ns++;
	assert_int_equal(descendants_pause(&d), 500 * MS);
}

TEST(one_that_has_called_none_is_waited_for_until_linger_is_over)
{
	add_process(101, false, OWN_GROUP);
	assert_false(is_over_at(0));
	assert_false(is_over_at(2999));
	expect_said("verbatim: the program has ended; 1 of its descendants still runs (pid 101): "
		    "Ctrl-C ends the recording\n");
	assert_true(is_over_at(3499));
	printed_begin(true);
	descendants_report_left(&d);
	printed_end(&said);
	expect_said("verbatim: the program has ended; 1 of its descendants is left running, "
		    "unrecorded (pid 101): no verb called within --linger\n");
}

/* A recorded process that has ended may have started the new one. */
TEST(linger_begins_again_with_one_that_has)
{
	add_process(101, true, OWN_GROUP);
	add_process(102, false, OWN_GROUP);
	assert_false(is_over_at(1000));
	nprocesses = 0;
	add_process(102, false, OWN_GROUP);
	add_process(103, false, OWN_GROUP);
	assert_false(is_over_at(3999)); /* it is noticed now */
	expect_said("verbatim: the program has ended; 2 of its descendants still run (pid 102, "
		    "...): Ctrl-C ends the recording\n");
	assert_false(is_over_at(6998));
	assert_true(is_over_at(7498));
	printed_begin(true);
	descendants_report_left(&d);
	printed_end(&said);
	expect_said("verbatim: the program has ended; 2 of its descendants are left running, "
		    "unrecorded (pid 102, ...): no verb called within --linger\n");
}

TEST(an_older_process_takes_part_only_if_it_records)
{
	add_process(BEFORE, false, OWN_GROUP);
	assert_true(is_over_at(0));
	add_process(BEFORE + 1, true, OWN_GROUP);
	assert_false(is_over_at(50));
	assert_int_equal(d.running, 1);
	assert_int_equal(d.first, BEFORE + 1);
	grows = false; /* pids have wrapped around: it may be a younger one */
	assert_false(is_over_at(100));
	assert_int_equal(d.running, 2);
}

TEST(the_first_is_one_that_is_waited_for)
{
	d.linger = 0;
	add_process(101, false, OWN_GROUP);
	add_process(102, true, OWN_GROUP);
	add_process(103, true, OWN_GROUP);
	assert_false(is_over_at(0));
	assert_int_equal(d.first, 102);
	assert_int_equal(d.running, 3);
	assert_int_equal(d.recorded, 2);
	assert_int_equal(d.awaited, 2);
}

/* With a request to end: is a process still waited for? */
TEST(a_request_to_end_changes_that)
{
	static const struct {
		bool recorded, own, group, late;
		uint64_t ms;
		bool over;
	} rows[] = {
		{ false, true, true, false, 0, true },
		{ true, true, true, false, 9999, false },
		{ true, true, true, true, 9999, false },
		{ true, false, true, false, 2999, false },
		{ true, false, true, false, 3000, true },
		{ true, false, true, true, 0, true },
		{ true, true, false, false, 2999, false },
		{ true, true, false, false, 3000, true },
		{ true, true, false, true, 0, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin_end(NULL);
		add_process(101, rows[i].recorded, rows[i].own ? OWN_GROUP : 9);
		d.asked = true;
		d.group = rows[i].group;
		d.late = rows[i].late;
		if (is_over_at(rows[i].ms) != rows[i].over)
			fail_msg("row %zu", i);
	}
}

TEST(who_is_left_after_a_request_is_reported)
{
	add_process(101, false, OWN_GROUP);
	d.asked = true;
	printed_begin(true);
	descendants_report_left(&d);
	printed_end(&said);
	expect_said("verbatim: the program has ended; 1 of its descendants is left running, "
		    "unrecorded (pid 101)\n");
	nprocesses = 0;
	printed_begin(true);
	descendants_report_left(&d);
	printed_end(&said);
	expect_said("");
}

TEST(a_quiet_recording_does_not_say_that_it_waits)
{
	progress.quiet = true;
	add_process(101, true, OWN_GROUP);
	assert_false(is_over_at(5000));
	expect_said("");
}

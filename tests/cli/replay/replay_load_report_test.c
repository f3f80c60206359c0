/*
 * Reports of replays as load, with each remark: replay_load_report_test.txt
 */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "cli/replay/replay_load_report.h"
#include "replay/load/load.h"
#include "tests/printed.h"
#include "tests/transcript.h"

static struct text out;
static struct load load;
static struct load_report report;

/* 40 requests of 64 bytes from one rank to another, 1000 ns apart. */
static void begin_report(void)
{
	struct load_class *class;
	uint32_t kind;

	load_fini(&load);
	load = (struct load){ .nranks = 2 };
	assert_int_equal(load_find_kind(&load, IBV_WR_SEND, 64, &kind), 0);
	class = load_add_class(&load);
	assert_non_null(class);
	class->edges = calloc(1, sizeof(*class->edges));
	assert_non_null(class->edges);
	class->edges[0] = (struct load_edge){ 0, 1 };
	class->nedges = 1;
	class->tracks = calloc(1, sizeof(*class->tracks));
	assert_non_null(class->tracks);
	class->ntracks = 1;
	class->tracks[0].count = 40;
	for (int i = 0; i < 40; i++)
		assert_int_equal(load_add_request(&class->tracks[0], i ? 1000 : 0, kind), 0);
	histogram_fini(&report.lateness);
	report = (struct load_report){
		.name = "a\033.model",
		.load = &load,
		.pace = 1,
		.result = { .device = "verbatim0",
			    .issued = 40,
			    .completed = 40,
			    .messages = 40,
			    .received = 40,
			    .bytes = 2560,
			    .first = 5000,
			    .last = 85000 },
	};
}

static void show_report(const char *name)
{
	text_addf(&out, "== %s\n", name);
	printed_begin(false);
	load_report_text(&report, stdout);
	load_report_json(&report, stdout);
	printed_end(&out);
	begin_report();
}

static void show_ends(void)
{
	report.result.issued = 39;
	show_report("one is missing");
	report.result.issued = 7;
	report.result.late = report.result.stopped = true;
	show_report("late");
	report.result.issued = 7;
	report.result.stopped = true;
	show_report("stopped");
	report.result.issued = 0;
	show_report("nothing was issued");
	report.result.last = report.result.first;
	show_report("at one time");
	report.pace = 4;
	show_report("faster");
}

static void show_errors(void)
{
	report.result.errors = 1;
	report.result.failure = (struct load_failure){
		.status = IBV_WC_RETRY_EXC_ERR, .from = 3, .to = 4, .time = 1234567
	};
	show_report("an error");
	report.result.errors = 2;
	report.result.failure.status = 99;
	show_report("errors of no known status");
}

static void show_remarks(void)
{
	for (unsigned int n = 1; n <= 2; n++) {
		report.result.full = n;
		report.result.full_longest = 777000;
		report.result.full_from = 5;
		report.result.full_to = 6;
		report.result.received -= n;
		load.left_out = n;
		load.dropped = n;
		load.outside = n;
		for (int i = 0; i < 100; i++)
			histogram_add(&report.lateness, i * 1000);
		show_report(n == 1 ? "one of each" : "several of each");
	}
}

TEST(reports_are_those_of_the_transcript)
{
	begin_report();
	show_report("all is well");
	show_ends();
	show_errors();
	show_remarks();
	load_fini(&load);
	transcript_expect(__FILE__, &out);
}

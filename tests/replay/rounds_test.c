/* The results of several rounds, and the list of live objects in a report. */
#include <stdlib.h>
#include <string.h>

#include "replay/report/alive_objects.h"
#include "replay/report/rounds.h"
#include "tests/test.h"

static void assert_prints(const struct rounds *rounds, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	rounds_verdict(rounds, to);
	rounds_text(rounds, to);
	fclose(to);
	assert_string_equal(text, wanted);
	free(text);
}

TEST(times_are_measured_in_any_order)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };
	struct rounds rounds = { 0 };

	rounds_measure(&rounds, odd, 3);
	assert_true(rounds.least == 1 && rounds.median == 2 && rounds.most == 3);
	rounds_measure(&rounds, even, 4);
	assert_true(rounds.least == 1 && rounds.median == 2.5 && rounds.most == 4);
}

TEST(nothing_is_said_of_one_replay)
{
	assert_prints(&(struct rounds){ 0 }, "");
}

TEST(no_time_is_reported_before_the_warmup_is_over)
{
	assert_prints(&(struct rounds){ .warmup = 2, .wanted = 3, .done = 2 }, "2 of 5 rounds: ");
}

TEST(rounds_that_differ_are_counted)
{
	assert_prints(&(struct rounds){ .wanted = 3, .done = 3, .differing = 2, .shown = 2 },
		      "3 rounds, of which 2 differ, the first round 2: "
		      "3 rounds: replayed in 0.000000 s minimum, 0.000000 s "
		      "median, 0.000000 s maximum\n");
}

TEST(what_is_alive_is_listed_with_what_is_under_way)
{
	struct alive_object objects[] = {
		{ .name = "cq1/1", .kind = OBJECT_cq, .state = -1, .completed = { 1, 0 } },
		{ .name = "qp1/1",
		  .kind = OBJECT_qp,
		  .handle = (void *)0x10,
		  .state = IBV_QPS_ERR,
		  .under_way = { 1, 2 },
		  .completed = { 0, 1 } },
	};
	struct alive_request requests[] = {
		{ .object = 1, .post = { 1, 2 }, .completed = true },
		{ .object = 1, .post = { 1, 7 }, .receive = true },
		{ .object = 1, .post = { 1, 8 }, .receive = true },
	};
	struct alive_objects moment = { objects, requests, 2, 3 };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	alive_objects_text(NULL, to);
	alive_objects_text(&moment, to);
	fclose(to);
	assert_string_equal(text, "alive: 2 objects\n"
				  "  cq1/1  -  (nil)  1 completion not polled\n"
				  "  qp1/1  ERR  0x10  1 send under way, 2 receives under way "
				  "since 1:7, 1 completion not polled\n");
	free(text);
}

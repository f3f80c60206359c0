/*
 * analyzer/diff: runs that are compared, and what is found; diff_test.txt has all of the first
 * comparisons of each test
 */
#include <math.h>
#include <stdlib.h>

#include "analyzer/diff/diff.h"
#include "analyzer/diff/sample.h"
#include "tests/test.h"
#include "tests/transcript.h"

enum { RUNS = 4, ROUNDS = 200, NOTED = 3 };

static struct diff_run *before[RUNS], *after[RUNS];
static struct diff *diff;
static uint64_t state_of_chance;

/* What was found so far; the tests and the comparisons of the present one. */
static struct text found;
static int tests_begun, compared;

/* From 0 to 1. */
static double draw_share(void)
{
	state_of_chance = state_of_chance * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state_of_chance >> 40) / (1 << 24);
}

/* With standard deviation 1. */
static double draw_normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += draw_share();
	return sum;
}

static struct diff_run *make_run(void)
{
	struct diff_run *run = calloc(1, sizeof(*run));

	run->path = "a.db";
	run->profile = calloc(1, sizeof(*run->profile));
	run->profile->one_of = 1;
	run->profile->first_post = -1;
	run->profile->last_completion = -1;
	return run;
}

static int make_runs(void **state)
{
	(void)state;
	state_of_chance = 1;
	compared = 0;
	text_addf(&found, "== %d\n", ++tests_begun);
	for (int i = 0; i < RUNS; i++) {
		before[i] = make_run();
		after[i] = make_run();
	}
	return 0;
}

static int free_runs(void **state)
{
	(void)state;
	diff_free(diff);
	diff = NULL;
	for (int i = 0; i < RUNS; i++) {
		diff_run_free(before[i]);
		diff_run_free(after[i]);
	}
	return 0;
}

FIXTURE(make_runs, free_runs);

static struct diff_site *add_site(struct diff_run *run, enum verb verb, const char *function)
{
	struct diff_site *site;

	run->sites = realloc(run->sites, (run->nsites + 1) * sizeof(*site));
	site = &run->sites[run->nsites++];
	memset(site, 0, sizeof(*site));
	site->verb = verb;
	site->function = strdup(function);
	snprintf(site->text, sizeof(site->text), "%s", function);
	return site;
}

static void add_attribute(struct diff_site *site, const char *name, const char *value)
{
	site->attributes =
		realloc(site->attributes, (site->nattributes + 1) * sizeof(*site->attributes));
	site->attributes[site->nattributes] =
		(struct diff_attribute){ attribute_find(name)->name, calloc(8, sizeof(char *)), 1 };
	site->attributes[site->nattributes++].values[0] = strdup(value);
}

static void add_posts(struct diff_run *run, const char *function, uint64_t posts, uint64_t each,
		      uint64_t signalled)
{
	struct diff_site *site = add_site(run, VERB_post_send, function);

	site->sum.posts = posts;
	site->sum.requests = site->sum.judged = posts * each;
	site->sum.longest = (uint32_t)each;
	site->sum.signalled = signalled;
}

static void note_change(const struct diff_change *c)
{
	text_addf(&found, "%d %d %d %s: %.6g, %.6g", (int)c->section, (int)c->verdict, (int)c->unit,
		  c->what, c->before, c->after);
	if (c->before_text || c->after_text)
		text_addf(&found, " '%s', '%s'", c->before_text ?: "-", c->after_text ?: "-");
	if (*c->place)
		text_addf(&found, " at %s", c->place);
	if (c->has_bounds)
		text_addf(&found, ", %.4g to %.4g", c->low, c->high);
	text_addf(&found, "%s%s\n", *c->note ? "; " : "", c->note);
}

static void note_diff(void)
{
	text_addf(&found, "regressions %llu, shapes %llu%s\n",
		  (unsigned long long)diff->regressions, (unsigned long long)diff->shapes,
		  diff->counted ? ", counted" : "");
	for (size_t i = 0; i < diff->nchanges; i++)
		note_change(&diff->changes[i]);
	for (size_t i = 0; i < diff->ntests; i++) {
		const struct diff_test *t = &diff->tests[i];

		text_addf(&found, "same %s of %s %s: %s %.6g%s\n", t->what, t->verb ?: "-", t->of,
			  t->because ?: "", t->because ? 0 : t->could_see,
			  t->share ? " points" : "");
	}
}

static const struct diff *compare_runs(size_t n)
{
	struct diff_side a = { before, n }, b = { after, n };

	diff_free(diff);
	diff = NULL;
	assert_int_equal(diff_runs(&a, &b, 10, &diff), 0);
	if (compared++ < NOTED)
		note_diff();
	return diff;
}

static const struct diff_change *find_change(const char *what)
{
	for (size_t i = 0; i < diff->nchanges; i++)
		if (!strcmp(diff->changes[i].what, what))
			return &diff->changes[i];
	return NULL;
}

static enum diff_verdict verdict_of(const char *what)
{
	const struct diff_change *change = find_change(what);

	assert_non_null(change);
	return change->verdict;
}

TEST(runs_of_nothing_are_the_same)
{
	assert_int_equal(compare_runs(RUNS)->nchanges, 0);
	assert_int_equal(compare_runs(1)->nchanges, 0);
}

/* Structure */

TEST(fewer_requests_a_doorbell_is_a_regression)
{
	add_posts(before[0], "put", 1000, 8, 1000);
	add_posts(after[0], "put", 8000, 1, 1000);
	assert_int_equal(compare_runs(1)->regressions, 1);
	assert_int_equal(verdict_of("requests a doorbell"), DIFF_WORSE);
	assert_non_null(strstr(find_change("requests a doorbell")->place, "ibv_post_send, put"));
}

/* The length of lists depends on the load of the machine if both sides had longer ones. */
TEST(batches_that_vary_are_no_verdict)
{
	add_posts(before[0], "put", 1000, 3, 1000);
	add_posts(after[0], "put", 1000, 2, 667);
	before[0]->sites[0].sum.longest = after[0]->sites[0].sum.longest = 8;
	assert_int_equal(compare_runs(1)->regressions, 0);
	assert_int_equal(verdict_of("requests a doorbell"), DIFF_UNCLEAR);
}

/* Fewer than 50 batches show nothing, nor do those whose longest is the other's mean. */
TEST(batches_are_judged_if_there_are_enough)
{
	for (uint64_t posts = 49; posts <= 50; posts++) {
		add_posts(before[0], "put", posts, 8, posts);
		add_posts(after[0], "put", posts, 1, posts);
		compare_runs(1);
		after[0]->sites[0].sum.longest = 8;
		compare_runs(1);
		diff_run_free(before[0]);
		diff_run_free(after[0]);
		before[0] = make_run();
		after[0] = make_run();
		compared = 0;
	}
}

/* The means of three runs a side: their gap is twice the wider range, or more. */
TEST(batches_of_three_runs_are_judged_by_their_gap)
{
	for (uint64_t wide = 199; wide <= 201; wide++) {
		for (size_t i = 0; i < 3; i++) {
			add_posts(before[i], "put", 1000, 1, 1000);
			add_posts(after[i], "put", 1000, 1, 1000);
			before[i]->sites[0].sum.requests = 1000 + 100 * i;
			after[i]->sites[0].sum.requests = 1000 + 200 + 2 * wide + 50 * i;
			before[i]->sites[0].sum.longest = after[i]->sites[0].sum.longest = 9;
		}
		compare_runs(3);
		compare_runs(2);
		free_runs(NULL);
		make_runs(NULL);
	}
}

TEST(a_share_that_chance_moves_is_the_same)
{
	add_posts(before[0], "put", 100, 1, 50);
	add_posts(after[0], "put", 100, 1, 65);
	assert_int_equal(compare_runs(1)->nchanges, 0);
	after[0]->sites[0].sum.signalled = 95;
	assert_int_equal(compare_runs(1)->regressions, 1);
}

/* One of 100 requests is signalled, and then the last of each list, as ib_send_bw -l 8 does. */
TEST(the_signalled_share_of_other_lists_is_no_regression)
{
	add_posts(before[0], "put", 8000, 1, 80);
	add_posts(after[0], "put", 1000, 8, 1000);
	assert_int_equal(compare_runs(1)->regressions, 0);
	assert_int_equal(verdict_of("signalled"), DIFF_CHANGED);
	assert_int_equal(verdict_of("requests a doorbell"), DIFF_BETTER);
	assert_non_null(strstr(find_change("signalled")->note, "differ in length"));
}

TEST(a_function_of_another_name_is_the_same_place)
{
	add_posts(before[0], "put", 1000, 8, 8000);
	add_posts(after[0], "put_all", 1000, 8, 1000);
	compare_runs(1);
	assert_int_equal(verdict_of("signalled"), DIFF_BETTER);
}

TEST(functions_that_are_known_on_both_sides_are_compared_one_by_one)
{
	add_posts(before[0], "put", 1000, 8, 8000);
	add_posts(before[0], "get", 1000, 8, 1000);
	add_posts(after[0], "put", 1000, 8, 1000);
	add_posts(after[0], "get", 1000, 8, 8000);
	assert_int_equal(compare_runs(1)->nchanges, 2);
}

TEST(functions_that_are_known_on_one_side_only_are_one)
{
	add_posts(before[0], "", 2000, 8, 2000);
	add_posts(after[0], "put", 1000, 8, 1000);
	add_posts(after[0], "get", 1000, 8, 1000);
	assert_int_equal(compare_runs(1)->nchanges, 0);
}

TEST(what_runs_of_a_side_disagree_on_is_no_change)
{
	for (int i = 0; i < 2; i++) {
		add_attribute(add_site(before[i], VERB_create_qp, "make"), "max_inline_data",
			      i ? "64" : "32");
		add_attribute(add_site(after[i], VERB_create_qp, "make"), "max_inline_data", "0");
	}
	assert_int_equal(compare_runs(2)->nchanges, 0);
	assert_int_equal(compare_runs(1)->regressions, 1);
}

TEST(attributes_have_a_direction_or_none)
{
	struct diff_site *a = add_site(before[0], VERB_modify_qp, "connect");
	struct diff_site *b = add_site(after[0], VERB_modify_qp, "connect");

	add_attribute(a, "path_mtu", "IBV_MTU_4096");
	add_attribute(b, "path_mtu", "IBV_MTU_1024");
	add_attribute(a, "timeout", "14");
	add_attribute(b, "timeout", "18");
	assert_int_equal(compare_runs(1)->regressions, 1);
	assert_int_equal(verdict_of("path_mtu"), DIFF_WORSE);
	assert_int_equal(verdict_of("timeout"), DIFF_CHANGED);
}

/* Values are of the attributes of either side. */
TEST(an_attribute_may_be_set_on_one_side_only)
{
	struct diff_site *a = add_site(before[0], VERB_modify_qp, "connect");
	struct diff_site *b = add_site(after[0], VERB_modify_qp, "connect");

	add_attribute(a, "timeout", "14");
	add_attribute(b, "path_mtu", "IBV_MTU_1024");
	compare_runs(1);
	assert_int_equal(verdict_of("path_mtu"), DIFF_CHANGED);
	assert_int_equal(verdict_of("timeout"), DIFF_CHANGED);
}

static void add_place(struct diff_site *site, const char *text, const char *value, const char *also)
{
	struct diff_site *place;

	site->places = realloc(site->places, (site->nplaces + 1) * sizeof(*place));
	place = &site->places[site->nplaces++];
	memset(place, 0, sizeof(*place));
	place->verb = site->verb;
	place->function = site->function; /* the site frees its function's name */
	snprintf(place->text, sizeof(place->text), "%s", text);
	add_attribute(place, "max_inline_data", value);
	if (also)
		place->attributes->values[place->attributes->n++] = strdup(also);
}

/* Only the second place has the value that was not there before. */
TEST(an_attribute_has_changed_where_its_value_is_new)
{
	struct diff_site *a = add_site(before[0], VERB_create_qp, "make");
	struct diff_site *b = add_site(after[0], VERB_create_qp, "make");

	add_attribute(a, "max_inline_data", "32");
	a->attributes->values[a->attributes->n++] = strdup("64");
	add_attribute(b, "max_inline_data", "64");
	b->attributes->values[b->attributes->n++] = strdup("0");
	add_place(a, "make (a.c:1)", "32", "64");
	add_place(b, "make (a.c:1)", "64", NULL);
	add_place(b, "make (a.c:2)", "64", "0");
	compare_runs(1);
	assert_non_null(strstr(find_change("max_inline_data")->place, "make (a.c:2)"));
}

/* A run of twice the length has twice as many calls, or the same number. */
TEST(a_longer_run_is_no_change)
{
	add_site(before[0], VERB_reg_mr, "value")->sum.posting = 1000;
	add_site(after[0], VERB_reg_mr, "value")->sum.posting = 2000;
	before[0]->profile->send.requests = 8000;
	after[0]->profile->send.requests = 16000;
	assert_int_equal(compare_runs(1)->nchanges, 0);
	after[0]->profile->send.requests = 8000;
	assert_int_equal(compare_runs(1)->regressions, 1);
	before[0]->lossy = true;
	assert_int_equal(compare_runs(1)->nchanges, 0);
}

/* Shape */

/* Gaps about 350 ns, of which @share are 5 us longer, and a tail. */
static void add_gaps(struct diff_run *run, double scale, double share)
{
	struct diff_site *site;

	add_posts(run, "put", 2000, 8, 2000);
	site = &run->sites[run->nsites - 1];
	for (int i = 0; i < 2000; i++) {
		double gap = scale * 350 * exp(0.2 * draw_normal());

		if (draw_share() < 0.03)
			gap *= exp(8 * draw_share());
		histogram_add(&site->sum.gap, (int64_t)(gap + (draw_share() < share ? 5000 : 0)));
	}
}

static uint64_t alarms_of_gaps(size_t n, double scale, double share)
{
	uint64_t alarms = 0;

	for (int round = 0; round < ROUNDS; round++) {
		free_runs(NULL);
		for (int i = 0; i < RUNS; i++) {
			before[i] = make_run();
			after[i] = make_run();
			add_gaps(before[i], 1 + 0.1 * draw_normal(), 0);
			add_gaps(after[i], scale * (1 + 0.1 * draw_normal()), share);
		}
		alarms += compare_runs(n)->regressions > 0;
	}
	return alarms;
}

TEST(gaps_alike_are_no_alarm)
{
	assert_int_equal(alarms_of_gaps(1, 1, 0), 0);
	assert_int_equal(alarms_of_gaps(3, 1, 0), 0);
}

TEST(gaps_that_are_all_longer_are_no_mode)
{
	assert_int_equal(alarms_of_gaps(1, 1.5, 0), 0);
	assert_int_equal(alarms_of_gaps(3, 4, 0), 0);
}

TEST(a_new_mode_is_found)
{
	assert_true(alarms_of_gaps(1, 1, 0.06) > ROUNDS * 98 / 100);
	assert_true(alarms_of_gaps(3, 1, 0.03) > ROUNDS * 98 / 100);
}

static void add_gaps_of(struct diff_run *run, int64_t ns, int n)
{
	for (int i = 0; i < n; i++)
		histogram_add(&run->sites[0].sum.gap, ns);
}

/* A twentieth of them is at each end: 4.16 us, and 5.12 us. */
TEST(a_mode_is_where_nine_tenths_of_its_gaps_are)
{
	for (int i = 0; i < 2; i++) {
		struct diff_run *run = i ? after[0] : before[0];

		add_posts(run, "put", 2000, 1, 2000);
		add_gaps_of(run, 350, 2000);
	}
	add_gaps_of(after[0], 4160, 10);
	add_gaps_of(after[0], 4480, 20);
	add_gaps_of(after[0], 4736, 159);
	add_gaps_of(after[0], 4864, 1);
	add_gaps_of(after[0], 5120, 10);
	compare_runs(1);
	assert_int_equal(verdict_of("gap before a post"), DIFF_WORSE);
	assert_string_equal(find_change("gap before a post")->note,
			    "new mode at 4.48 us to 4.99 us: 200 gaps, before 0");
}

/* Times */

/* A run is @times as slow as others, plus random @spread. */
static void add_latency(struct diff_run *run, double times, double spread)
{
	struct profile_requests *row = calloc(1, sizeof(*row));
	double own = times * exp(spread * draw_normal());

	row->least = row->most = 64;
	for (int i = 0; i < 200; i++)
		histogram_add(&row->latency, (int64_t)(3000 * own * exp(0.3 * draw_normal())));
	run->profile->requests[0][profile_size_class(64)] = row;
}

static uint64_t alarms_of_times(size_t n, double times, double spread)
{
	uint64_t alarms = 0;

	for (int round = 0; round < ROUNDS; round++) {
		free_runs(NULL);
		for (int i = 0; i < RUNS; i++) {
			before[i] = make_run();
			after[i] = make_run();
			add_latency(before[i], 1, spread);
			add_latency(after[i], times, spread);
		}
		alarms += compare_runs(n)->regressions > 0;
	}
	return alarms;
}

TEST(one_run_a_side_is_no_verdict)
{
	assert_int_equal(alarms_of_times(1, 100, 0.05), 0);
	assert_int_equal(verdict_of("RDMA_WRITE 64 B p50"), DIFF_UNCLEAR);
}

/* However many the other side has. */
TEST(one_run_on_either_side_is_no_verdict)
{
	const size_t sides[][2] = { { 1, 3 }, { 3, 1 }, { 1, 2 }, { 2, 1 } };

	for (int i = 0; i < RUNS; i++) {
		add_latency(before[i], 1, 0.01);
		add_latency(after[i], 100, 0.01);
	}
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		struct diff_side a = { before, sides[i][0] }, b = { after, sides[i][1] };

		diff_free(diff);
		diff = NULL;
		assert_int_equal(diff_runs(&a, &b, 10, &diff), 0);
		assert_int_equal(diff->regressions, 0);
		assert_int_equal(verdict_of("RDMA_WRITE 64 B p50"), DIFF_UNCLEAR);
		assert_false(find_change("RDMA_WRITE 64 B p50")->has_bounds);
	}
	assert_int_equal(compare_runs(2)->regressions > 0, true);
}

/* 0.5 % of all are expected, on the side that raises an alarm. */
TEST(times_alike_are_alarms_as_often_as_the_confidence_says)
{
	assert_true(alarms_of_times(3, 1, 0.02) == 0);
	assert_true(alarms_of_times(3, 1, 0.3) <= ROUNDS * 2 / 100);
	assert_true(alarms_of_times(2, 1, 0.3) <= ROUNDS * 2 / 100);
}

TEST(slower_runs_are_found)
{
	assert_true(alarms_of_times(3, 2, 0.05) > ROUNDS * 90 / 100);
	assert_true(alarms_of_times(4, 1.5, 0.05) > ROUNDS * 90 / 100);
}

static void add_latencies(struct diff_run *run, uint32_t size, int n)
{
	struct profile_requests *row = calloc(1, sizeof(*row));

	row->least = row->most = size;
	for (int i = 0; i < n; i++)
		histogram_add(&row->latency, 3000);
	run->profile->requests[0][profile_size_class(size)] = row;
}

/* Without a change three are shown: of equally frequent ones those of fewer bytes. */
TEST(the_most_frequent_requests_are_shown)
{
	static const int counts[] = { 100, 40, 50, 29, 50, 50 };

	for (int i = 0; i < 6; i++) {
		add_latencies(before[0], 64u << i, 100);
		add_latencies(after[0], 64u << i, counts[i]);
	}
	compare_runs(1);
	assert_non_null(find_change("RDMA_WRITE 64 B p50"));
	assert_null(find_change("RDMA_WRITE 128 B p50"));
	assert_non_null(find_change("RDMA_WRITE 256 B p50"));
	assert_null(find_change("RDMA_WRITE 512 B p50"));
	assert_non_null(find_change("RDMA_WRITE 1024 B p50"));
	assert_null(find_change("RDMA_WRITE 2048 B p50"));
}

/* In a damaged trace; there is no logarithm of 0. */
TEST(times_of_0_are_compared)
{
	for (int i = 0; i < RUNS; i++) {
		add_latency(before[i], 0, 0);
		add_latency(after[i], 0, 0);
	}
	compare_runs(RUNS);
	assert_true(diff->nchanges > 0);
	assert_int_equal(diff->regressions, 0);
	for (size_t i = 0; i < diff->nchanges; i++)
		assert_true(isfinite(diff->changes[i].low) && isfinite(diff->changes[i].high));
}

TEST(a_change_has_an_interval)
{
	for (int i = 0; i < RUNS; i++) {
		add_latency(before[i], 1, 0.1);
		add_latency(after[i], 1.2, 0.1);
	}
	assert_true(compare_runs(RUNS)->changes[0].low < 20 && diff->changes[0].high > 0);
}

/* Two runs of 0 and 2: s^2 is 2, and that of the mean 1; t of 2 degrees of freedom is 9.925. */
TEST(an_interval_is_that_of_student)
{
	double of[2] = { 0, 2 };

	assert_float_equal(sample_width(&(struct sample){ { of, of }, { 2, 2 } }), 9.925 * sqrt(2),
			   1e-9);
}

/* A run of 1000 sends in @ms. */
static void set_rate(struct diff_run *run, double ms)
{
	run->profile->send.requests = 1000;
	run->profile->first_post = 0;
	run->profile->last_completion = (int64_t)(ms * 1e6);
	run->profile->duration = (int64_t)(ms * 1e6);
}

static enum diff_verdict verdict_of_rates(const double of[2][3])
{
	for (int i = 0; i < 3; i++) {
		set_rate(before[i], of[0][i]);
		set_rate(after[i], of[1][i]);
	}
	compare_runs(3);
	return verdict_of("requests a second");
}

/* One of the fast runs is slow, so the interval of 99 % contains 0. */
TEST(runs_that_are_all_slower_are_found)
{
	static const double slower[2][3] = { { 100, 101, 200 }, { 420, 421, 841 } };
	static const double overlap[2][3] = { { 100, 101, 200 }, { 199, 205, 210 } };
	static const double near[2][3] = { { 100, 101, 200 }, { 205, 280, 290 } };

	assert_int_equal(verdict_of_rates(slower), DIFF_WORSE);
	assert_non_null(strstr(find_change("requests a second")->note, "slower than each run"));
	assert_true(find_change("requests a second")->low < 0 &&
		    find_change("requests a second")->high > 0);
	assert_int_equal(verdict_of_rates(overlap), DIFF_UNCLEAR);
	assert_string_equal(find_change("requests a second")->note, "");
	assert_int_equal(verdict_of_rates(near), DIFF_UNCLEAR);
	assert_non_null(strstr(find_change("requests a second")->note, "by at least 2.44 %"));
}

/* Gaps between posts and between polls, outstanding sends and a duration. */
static void add_pace(struct diff_run *run, double times, double spread)
{
	double own = times * exp(spread * draw_normal());
	struct profile_queue *queue = calloc(1, sizeof(*queue));
	struct diff_site *site;

	run->profile->queues = calloc(2, sizeof(*run->profile->queues));
	run->profile->cqs = calloc(2, sizeof(*run->profile->cqs));
	run->profile->queues[1] = queue;
	run->profile->nobjects = 2;
	queue->send.known = queue->receive.known = true;
	queue->send.high = 16;
	queue->send.depth = (struct profile_depth){ .area = 8e9 / own, .ns = 1000000000 };
	queue->receive.depth = (struct profile_depth){ .area = 8e9,
						       .ns = 1000000000,
						       .empty_ns = (int64_t)(1e8 * own) };
	run->profile->duration = (int64_t)(1e9 * own);
	site = add_site(run, VERB_post_send, "put");
	for (int i = 0; i < 100; i++)
		histogram_add(&site->sum.gap, (int64_t)(3e6 * own * exp(0.3 * draw_normal())));
	site = add_site(run, VERB_create_cq, "make");
	for (int i = 0; i < 100; i++)
		histogram_add(&site->poll_gap, (int64_t)(1e5 * own * exp(0.3 * draw_normal())));
}

/* Rounds with a change of any number. */
static uint64_t changes_of_pace(size_t n, double times, double spread)
{
	uint64_t rounds = 0;

	for (int round = 0; round < ROUNDS; round++) {
		bool changed = false;

		free_runs(NULL);
		for (int i = 0; i < RUNS; i++) {
			before[i] = make_run();
			after[i] = make_run();
			add_pace(before[i], 1, spread);
			add_pace(after[i], times, spread);
		}
		compare_runs(n);
		for (size_t i = 0; i < diff->nchanges; i++)
			changed |= diff->changes[i].verdict != DIFF_UNCLEAR;
		rounds += changed;
	}
	return rounds;
}

TEST(gaps_of_milliseconds_are_compared)
{
	assert_true(changes_of_pace(3, 4.4, 0.1) > ROUNDS * 95 / 100);
	assert_int_equal(verdict_of("gap before a post p50"), DIFF_CHANGED);
	assert_int_equal(verdict_of("gap between polls p50"), DIFF_CHANGED);
	assert_non_null(strstr(find_change("gap between polls p50")->place, "make"));
	assert_int_equal(verdict_of("sends outstanding, mean"), DIFF_CHANGED);
	assert_int_equal(verdict_of("receive queues empty"), DIFF_CHANGED);
	assert_int_equal(verdict_of("duration"), DIFF_WORSE);
	assert_null(find_change("sends outstanding, most"));
}

/* As of a busy machine: each run is another factor slower. */
TEST(paces_alike_are_no_change)
{
	assert_int_equal(changes_of_pace(1, 1, 0.3), 0);
	assert_int_equal(changes_of_pace(2, 1, 0.3), 0);
	assert_true(changes_of_pace(3, 1, 0.02) <= ROUNDS / 100);
	assert_true(changes_of_pace(3, 1, 0.3) <= ROUNDS * 2 / 100);
	assert_true(changes_of_pace(4, 1, 1) <= ROUNDS / 100);
}

TEST(one_run_a_side_shows_a_pace_that_differs_by_far)
{
	assert_int_equal(changes_of_pace(1, 4.4, 0.1), 0);
	assert_int_equal(verdict_of("gap between polls p50"), DIFF_UNCLEAR);
	assert_non_null(strstr(find_change("duration")->note, "one run per side"));
}

/* Twice as long is reported, less is not. */
TEST(one_run_a_side_shows_a_factor_of_two)
{
	before[0]->profile->duration = 1 << 20;
	after[0]->profile->duration = (1 << 21) - 2;
	compare_runs(1);
	assert_null(find_change("duration"));
	after[0]->profile->duration = 1 << 21;
	compare_runs(1);
	assert_int_equal(verdict_of("duration"), DIFF_UNCLEAR);
}

/* Two runs per side are judged, although they cannot show much. */
TEST(two_runs_a_side_are_not_one)
{
	for (int i = 0; i < 2; i++) {
		before[i]->profile->duration = 1 << 20;
		after[i]->profile->duration = 1 << 23;
	}
	compare_runs(2);
	assert_null(find_change("duration"));
}

TEST(more_work_may_take_longer)
{
	for (int i = 0; i < 3; i++) {
		before[i]->profile->duration = 1000000000 + i;
		after[i]->profile->duration = 2000000000 + i;
		before[i]->profile->send.requests = after[i]->profile->send.requests = 10;
	}
	compare_runs(3);
	assert_int_equal(verdict_of("duration"), DIFF_WORSE);
	after[1]->profile->send.requests = 20;
	compare_runs(3);
	assert_int_equal(verdict_of("duration"), DIFF_CHANGED);
}

/* Environment */

TEST(facts_that_differ_are_reported)
{
	diff_run_add_fact(before[0], "host", "a");
	diff_run_add_fact(after[0], "host", "a");
	diff_run_add_fact(after[0], "UCX_TLS", "rc");
	assert_int_equal(compare_runs(1)->nchanges, 1);
	assert_string_equal(find_change("UCX_TLS")->before_text, "not set");
	assert_string_equal(find_change("UCX_TLS")->after_text, "rc");
	assert_int_equal(diff->regressions, 0);
}

TEST_LAST(findings_are_those_of_the_transcript)
{
	transcript_expect(__FILE__, &found);
}

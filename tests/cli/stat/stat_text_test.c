/*
 * The text of `verbatim stat` beside its tables
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/stat/stat_view.h"
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static struct trace *trace;
static struct profile profile;
static struct part part;
static struct profile_place places[32];
static const struct stat_view view = { .profile = &profile, .part = &part };

static int begin_profile(void **state)
{
	(void)state;
	memset(&part, 0, sizeof(part));
	memset(places, 0, sizeof(places));
	profile = (struct profile){ .one_of = 1,
				    .first_post = -1,
				    .last_completion = -1,
				    .waited.known = true,
				    .places = places };
	return 0;
}

static int end_profile(void **state)
{
	struct histogram *all[] = {
		&profile.messages.way, &profile.messages.lay_sent, &profile.messages.lay_received,
		&profile.send.list,    &profile.send.distance,     &profile.receive.list,
		&profile.send.gap,     &profile.receive.gap,       &profile.poll
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		histogram_fini(all[i]);
	return 0;
}

FIXTURE(begin_profile, end_profile);

/* What @print writes to the standard output. */
static const char *print_with(const struct stat_view *of, void (*print)(const struct stat_view *))
{
	static char text[8192];
	FILE *file = tmpfile();
	int before = dup(STDOUT_FILENO);
	size_t n;

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	print(of);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static const char *print_text(void (*print)(const struct stat_view *))
{
	return print_with(&view, print);
}

static void add_all(struct histogram *histogram, int64_t value, int n)
{
	for (int i = 0; i < n; i++)
		histogram_add(histogram, value);
}

/* Rates */

TEST(rates_are_those_of_the_time_with_work)
{
	profile.duration = 10000000000;
	profile.first_post = 1000000000;
	profile.last_completion = 3000000000;
	profile.sent = 8 << 20;
	profile.received = 4 << 20;
	assert_string_equal(print_text(stat_print_rates), "");
	profile.send.requests = 3000;
	assert_string_equal(
		print_text(stat_print_rates),
		"\n"
		"rate       3,000 requests sent in 2.00 s (first post to last completion)\n"
		"           1,500 requests/s, 4 MiB/s sent, 2 MiB/s received\n");
	part.phases.n = 1;
	assert_string_equal(print_text(stat_print_rates),
			    "\n"
			    "rate       3,000 requests sent in 10.0 s (in the phase)\n"
			    "           300 requests/s, 819 KiB/s sent, 410 KiB/s received\n");
	profile.duration = 0;
	assert_string_equal(print_text(stat_print_rates), "");
	part.phases.n = 0;
	profile.first_post = -1;
	assert_string_equal(print_text(stat_print_rates), "");
}

TEST(rates_of_a_damaged_trace_have_a_bound)
{
	profile.first_post = 0;
	profile.last_completion = 1;
	profile.send.requests = UINT64_MAX;
	assert_non_null(
		strstr(print_text(stat_print_rates), "1,000,000,000,000,000,000 requests/s"));
	profile.last_completion = 0;
	assert_string_equal(print_text(stat_print_rates), "");
}

/* Posts */

TEST(posts_are_counted_with_their_doorbells)
{
	profile.send = (struct profile_posts){ .posts = 4,
					       .refused = 2,
					       .requests = 10,
					       .judged = 10,
					       .signalled = 5,
					       .small = 8,
					       .small_inline = 2 };
	profile.receive = (struct profile_posts){ .posts = 1, .refused = 1, .requests = 3 };
	add_all(&profile.send.list, 2, 3);
	add_all(&profile.send.list, 4, 1);
	add_all(&profile.send.distance, 1, 2);
	add_all(&profile.send.distance, 3, 1);
	add_all(&profile.receive.list, 3, 1);
	profile.polls = 4;
	profile.empty = 12;
	profile.completions = 6;
	add_all(&profile.poll, 1, 3);
	add_all(&profile.poll, 3, 1);
	profile.errors = 2;
	profile.flushed = 1;
	profile.lengthless = 7;
	assert_string_equal(
		print_text(stat_print_posting),
		"\n"
		"send       10 requests in 4 posts: 2.50 per doorbell (p50 2, most 4)\n"
		"           2 posts were refused\n"
		"inline     25.0 % of 8 requests that are small enough\n"
		"signalled  50.0 % of 10 requests; distance p50 1, most 3\n"
		"receive    3 requests in 1 post: 3.00 per doorbell (p50 3, most 3)\n"
		"           1 post was refused\n"
		"polls      16, 75.0 % empty; 4 found 1.50 completions each (p50 1, most 3)\n"
		"errors     2 completions in error, 1 of them flushed\n"
		"           7 receives have no size: their CQ does not report byte_len\n");
}

TEST(nothing_is_said_of_what_did_not_happen)
{
	assert_string_equal(print_text(stat_print_posting), "");
	assert_string_equal(print_text(stat_print_gaps), "");
	assert_string_equal(print_text(stat_print_latency), "");
	profile.empty = 3;
	assert_string_equal(print_text(stat_print_posting), "\npolls      3, 100.0 % empty\n");
	profile.empty = 0;
	profile.errors = 1;
	assert_string_equal(print_text(stat_print_posting),
			    "errors     1 completion in error, 0 of them flushed\n");
}

TEST(requests_of_queues_that_are_older_are_not_judged)
{
	profile.send = (struct profile_posts){ .posts = 2, .requests = 2, .judged = 1 };
	add_all(&profile.send.list, 1, 2);
	assert_string_equal(
		print_text(stat_print_posting),
		"\n"
		"send       2 requests in 2 posts: 1.00 per doorbell (p50 1, most 1)\n"
		"inline     no request was small enough to be sent inline\n"
		"signalled  0.0 % of 1 requests\n"
		"           unknown for 1 requests: their queue is older than the trace\n");
	profile.send.judged = 0;
	assert_string_equal(
		print_text(stat_print_posting),
		"\n"
		"send       2 requests in 2 posts: 1.00 per doorbell (p50 1, most 1)\n"
		"           unknown for 2 requests: their queue is older than the trace\n");
}

TEST(shares_near_the_ends_are_not_rounded_to_them)
{
	static const struct {
		uint64_t signalled;
		const char *text;
	} rows[] = {
		{ 0, "signalled  0.0 % of" },       { 1, "signalled  < 0.1 % of" },
		{ 9, "signalled  < 0.1 % of" },     { 10, "signalled  0.1 % of" },
		{ 9990, "signalled  99.9 % of" },   { 9991, "signalled  > 99.9 % of" },
		{ 9999, "signalled  > 99.9 % of" }, { 10000, "signalled  100.0 % of" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		profile.send = (struct profile_posts){ .requests = 10000,
						       .judged = 10000,
						       .signalled = rows[i].signalled };
		assert_non_null(strstr(print_text(stat_print_posting), rows[i].text));
	}
}

/* Gaps and latencies */

TEST(gaps_are_shown_by_octaves)
{
	add_all(&profile.send.gap, 0, 3);
	add_all(&profile.send.gap, 1023, 600);
	add_all(&profile.send.gap, 1024, 1200);
	add_all(&profile.send.gap, 1 << 20, 196);
	add_all(&profile.send.gap, 1 << 30, 1);
	add_all(&profile.receive.gap, 2000, 10);
	assert_string_equal(
		print_text(stat_print_gaps),
		"\n"
		"gap between two posts to a send queue\n"
		"  p50 1.05 us, p90 1.05 us, p99 1.08 ms, p99.9 1.08 ms, max 1.07 s\n"
		"     0 ns to    2 ns    0.1 %  #\n"
		"   512 ns to 1.02 us   30.0 %  ###############\n"
		"  1.02 us to 2.05 us   60.0 %  ##############################\n"
		"  1.05 ms to 2.10 ms    9.8 %  #####\n"
		"  elsewhere            0.05 %  1\n"
		"\n"
		"gap between two posts to a receive queue\n"
		"  p50 2.00 us, p90 2.00 us, p99 2.00 us, p99.9 2.00 us, max 2.00 us\n");
}

TEST(gaps_between_polls_are_those_of_all_cqs)
{
	struct profile_cq cqs[2] = { 0 };
	struct profile_cq *of[] = { NULL, &cqs[0], &cqs[1] };

	profile.cqs = of;
	profile.nobjects = 3;
	add_all(&cqs[0].gap, 100, 1);
	add_all(&cqs[1].gap, 50000, 1);
	assert_string_equal(
		print_text(stat_print_gaps),
		"\n"
		"gap between two polls of a CQ, mean from one that found completions to the "
		"next\n"
		"  p50 101 ns, p90 50.0 us, p99 50.0 us, p99.9 50.0 us, max 50.0 us\n");
	histogram_fini(&cqs[0].gap);
	histogram_fini(&cqs[1].gap);
}

TEST(messages_have_bounds_of_their_times)
{
	add_all(&profile.messages.way, 100, 99);
	add_all(&profile.messages.way, 4000, 2);
	add_all(&profile.messages.lay_sent, 30, 99);
	add_all(&profile.messages.lay_sent, 60, 2);
	add_all(&profile.messages.lay_received, 7, 99);
	add_all(&profile.messages.lay_received, 9, 2);
	assert_string_equal(
		print_text(stat_print_latency),
		"\n"
		"messages with both ends recorded: 101\n"
		"  network time (upper bound)    p50  101 ns  p99 4.00 us\n"
		"  sender CQ dwell time          p50   30 ns  p99   60 ns (lower bound)\n"
		"  receiver CQ dwell time        p50    7 ns  p99    9 ns (lower bound)\n");
}

TEST(receivers_without_a_receive_are_reported)
{
	struct profile_queue queue = {
		.starved = { .messages = 1, .stalls = 1, .ns = 20000, .longest = 20000 }
	};
	struct profile_queue *of[] = { NULL, &queue, NULL };

	profile.queues = of;
	profile.nobjects = 3;
	assert_string_equal(
		print_text(stat_print_latency),
		"\n"
		"starved    1 message was posted 10 us or more before a receive for it\n"
		"           no receive was posted for 20.0 us in 1 stall, the longest 20.0 us\n");
	queue.starved = (struct profile_starved){ 5, 2, 90000, 70000, 0, 0 };
	assert_string_equal(
		print_text(stat_print_latency),
		"\n"
		"starved    5 messages were posted 10 us or more before a receive for them\n"
		"           no receive was posted for 90.0 us in 2 stalls, the longest 70.0 us\n");
}

/* Places, with a trace that has no symbols */

static int open_trace(void **state)
{
	const char *path = make_path("stat_text.db");

	assert_int_equal(make_sends(path, 2), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	unlink(path);
	return begin_profile(state);
}

static int close_trace(void **state)
{
	trace_close(trace);
	trace = NULL;
	return end_profile(state);
}

FIXTURE(open_trace, close_trace);

static const char *print_traced(void (*print)(const struct stat_view *))
{
	struct stat_view traced = view;

	traced.trace = trace;
	return print_with(&traced, print);
}

TEST(registrations_are_shown_by_place)
{
	places[0] = (struct profile_place){ .verb = VERB_reg_mr,
					    .calls = 5,
					    .ns = 5000,
					    .bytes = 4096,
					    .posting = 3,
					    .posting_ns = 3000 };
	places[1] = (struct profile_place){
		.verb = VERB_alloc_pd, .calls = 9, .ns = 90, .posting = 7, .posting_ns = 70
	};
	places[2] = (struct profile_place){ .verb = VERB_reg_dmabuf_mr,
					    .calls = 7,
					    .ns = 7000,
					    .bytes = 1 << 20,
					    .posting = 4,
					    .posting_ns = 4000 };
	places[3] = (struct profile_place){ .verb = VERB_reg_mr, .calls = 1, .ns = 10 };
	profile.nplaces = 4;
	profile.registered = 13;
	profile.registered_bytes = 3 << 20;
	profile.to = (int64_t)make_now - 1;
	assert_string_equal(print_traced(stat_print_registrations),
			    "\n"
			    "registered 13 regions, 3 MiB, 1 alive at the end; while posting 7\n"
			    "        7    1 MiB  7.00 us  unknown place\n"
			    "        5    4 KiB  5.00 us  unknown place\n"
			    "        1      0 B    10 ns  unknown place\n"
			    "\n"
			    "control verbs while posting: between two posts to a send queue\n"
			    "        7    70 ns  ibv_alloc_pd          unknown place\n"
			    "        4  4.00 us  ibv_reg_dmabuf_mr     unknown place\n"
			    "        3  3.00 us  ibv_reg_mr            unknown place\n");
}

TEST(one_region_is_no_plural)
{
	places[0] = (struct profile_place){ .verb = VERB_reg_mr, .calls = 1, .bytes = 64 };
	profile.nplaces = 1;
	profile.registered = 1;
	profile.registered_bytes = 64;
	assert_string_equal(print_traced(stat_print_registrations),
			    "\n"
			    "registered 1 region, 64 B, 0 alive at the end; while posting 0\n"
			    "        1     64 B     0 ns  unknown place\n");
}

static size_t count_lines(const char *text, const char *end)
{
	size_t n = 0;

	for (; (text = strstr(text, end)); text++)
		n++;
	return n;
}

TEST(eight_places_are_shown)
{
	const char *text;

	for (int i = 0; i < 10; i++) {
		places[i] = (struct profile_place){ .verb = VERB_reg_mr, .calls = 1, .posting = 1 };
		places[10 + i] =
			(struct profile_place){ .verb = VERB_post_send, .calls = 1, .posts = 1 };
	}
	profile.nplaces = 20;
	profile.registered = 10;
	text = print_traced(stat_print_registrations);
	assert_int_equal(count_lines(text, "    0 ns  unknown place\n"), 8);
	assert_int_equal(count_lines(text, "  ibv_reg_mr            unknown place\n"), 8);
	assert_int_equal(count_lines(text, "  ibv_post_send "), 8);
	assert_int_equal(count_lines(text, "  and 2 more places\n"), 2);
	profile.nplaces = 18;
	assert_int_equal(
		count_lines(print_traced(stat_print_registrations), "  and 2 more places\n"), 1);
}

TEST(places_that_post_have_their_shares)
{
	places[0] = (struct profile_place){
		.verb = VERB_post_recv, .calls = 2, .posts = 2, .requests = 6, .judged = 6
	};
	places[1] = (struct profile_place){ .verb = VERB_post_send,
					    .calls = 4,
					    .posts = 4,
					    .requests = 10,
					    .judged = 8,
					    .signalled = 2,
					    .small = 4,
					    .small_inline = 3 };
	places[2] = (struct profile_place){ .verb = VERB_post_send, .calls = 1, .requests = 0 };
	profile.nplaces = 3;
	assert_string_equal(print_traced(stat_print_registrations),
			    "\n"
			    "places that post       requests  a doorbell  signalled  inline\n"
			    "  ibv_post_send              10        2.50     25.0 %    75 %\n"
			    "    unknown place\n"
			    "  ibv_post_recv               6        3.00          -       -\n"
			    "    unknown place\n"
			    "  ibv_post_send               0        0.00          -       -\n"
			    "    unknown place\n");
}

/* The head */

TEST(size_of_a_trace_is_its_first_line)
{
	struct profile_queue queue = { 0 };
	struct profile_queue *of[] = { NULL, &queue };

	profile.queues = of;
	profile.nobjects = 2;
	profile.nverbs = 1;
	profile.duration = 1500;
	assert_string_equal(print_traced(stat_print_head),
			    "1 process, 1 thread, 1 queue, 15 events, "
			    "0 lost, 1 verb, 1.50 us\n");
	profile.nobjects = 1;
	profile.nverbs = 1234;
	assert_string_equal(print_traced(stat_print_head),
			    "1 process, 1 thread, 0 queues, 15 events, "
			    "0 lost, 1,234 verbs, 1.50 us\n");
}

TEST(size_of_a_part_is_that_of_its_events)
{
	struct profile_process processes[] = { { .id = 1, .first = -1 },
					       { .id = 2, .first = 0 },
					       { .id = 3, .first = 5 } };
	struct profile_thread threads[] = { { .id = 1 }, { 0 }, { .id = 3 } };

	profile.partial = true;
	profile.processes = processes;
	profile.nprocesses = 3;
	profile.threads = threads;
	profile.nthreads = 3;
	profile.duration = 2000;
	part.range.from.text = "1s";
	part.range.to.text = "end";
	part.process = 2;
	part.phases = (struct part_phases){ 2, { "warm", "run\033" } };
	assert_string_equal(
		print_traced(stat_print_head),
		"2 processes, 2 threads, 0 queues, 0 verbs, 2.00 us\n"
		"PART: from 1s to end process 2 phase warm, run\\x1b: 2.00 us; all numbers "
		"below are for this part\n");
}

TEST(estimates_and_filters_are_reported)
{
	const char *text;

	profile.one_of = 10;
	profile.filtered = true;
	text = print_traced(stat_print_head);
	assert_non_null(strstr(
		text, "\nSAMPLED: one in 10 data verbs was recorded; their counts and bytes are "
		      "estimates,\n  10 times the recorded ones. Requests and completions cannot "
		      "be matched, so\n  latencies are not available.\n"));
	assert_null(strstr(text, "FILTERED"));
	profile.one_of = 1;
	text = print_traced(stat_print_head);
	assert_null(strstr(text, "SAMPLED"));
	assert_non_null(
		strstr(text, "\nFILTERED: counts are of the events that passed --filter\n"));
}

TEST(waits_for_the_recorder_are_reported)
{
	profile.waited.known = false;
	assert_non_null(strstr(print_traced(stat_print_head),
			       "\nwaits for the recorder: not recorded in this trace\n"));
	profile.waited = (struct profile_waited){ .known = true,
						  .times = 3,
						  .full = 2,
						  .longer = 1,
						  .ns = 9000,
						  .most = 7000,
						  .worst = { 2, 41 },
						  .worst_at = 1000000 };
	assert_non_null(
		strstr(print_traced(stat_print_head),
		       "\nWAITED: the recorder made the program wait 9.00 us, in 3 waits\n"
		       "  (2 for a full ring, 1 for a longer one), the longest 7.00 us\n"
		       "  at 2:41 (1.00 ms). Durations that include a wait are overstated by "
		       "it.\n"));
	profile.waited.times = 1;
	assert_non_null(strstr(print_traced(stat_print_head), "wait 9.00 us, in 1 wait\n"));
}

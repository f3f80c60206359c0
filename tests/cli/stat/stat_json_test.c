/*
 * `verbatim stat` in JSON beside its tables: each member has its own number
 */
#include <unistd.h>

#include "cli/stat/stat_view.h"
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static struct trace *trace;
static struct profile profile;
static const struct part part;

static int open_trace(void **state)
{
	const char *path = make_path("stat_json.db");

	(void)state;
	make_now = 1000;
	profile = (struct profile){ .one_of = 1,
				    .first_post = -1,
				    .last_completion = -1,
				    .whole_from = INT64_MIN,
				    .waited.known = true };
	if (make_sends(path, 2) || trace_open(path, &trace))
		return -1;
	return unlink(path);
}

static int close_trace(void **state)
{
	(void)state;
	trace_close(trace);
	trace = NULL;
	return 0;
}

FIXTURE(open_trace, close_trace);

/* The value of member @name of all. */
static const char *print_member(const char *name)
{
	const struct stat_view view = { .trace = trace, .profile = &profile, .part = &part };
	static char text[16384];
	int before = dup(STDOUT_FILENO);
	FILE *file = tmpfile();
	char head[32], *begin, *end;
	size_t n;

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	stat_json(&view);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	snprintf(head, sizeof(head), "\n  \"%s\": ", name);
	memmove(text + 1, text, n + 1);
	text[0] = '\n';
	begin = strstr(text, head);
	assert_non_null(begin);
	begin += strlen(head);
	end = strstr(begin, ",\n  \"") ?: begin + strlen(begin) - strlen(",\n");
	*end = '\0';
	return begin;
}

static void expect_member(const char *name, const char *wanted)
{
	assert_string_equal(print_member(name), wanted);
}

TEST(the_summary_has_its_members)
{
	profile.from = 1;
	profile.to = (int64_t)make_now - 1;
	profile.duration = 3;
	profile.nverbs = 6;
	profile.verbs[VERB_alloc_pd] = (struct profile_verb){ .errors = 7, .unfinished = 20 };
	profile.verbs[VERB_reg_mr] = (struct profile_verb){ .errors = 1, .unfinished = 1 };
	profile.completions = 9;
	profile.errors = 10;
	profile.flushed = 11;
	profile.unmatched = 12;
	profile.lengthless = 13;
	profile.sent = 14;
	profile.received = 15;
	profile.registered = 16;
	profile.registered_bytes = 17;
	profile.filtered = true;
	expect_member("summary", "{\"from_ns\": 1, \"to_ns\": 1014, \"duration_ns\": 3, "
				 "\"first_post_ns\": null, \"last_completion_ns\": null, "
				 "\"processes\": 1, \"threads\": 1, \"events\": 15, \"verbs\": 6, "
				 "\"failed\": 8, \"unfinished\": 21, \"completions\": 9, "
				 "\"errors\": 10, \"flushed\": 11, \"unmatched\": 12, "
				 "\"lengthless\": 13, \"sent_bytes\": 14, \"received_bytes\": 15, "
				 "\"registered\": 16, \"registered_bytes\": 17, "
				 "\"regions_alive\": 1, \"lost\": 0, \"overwritten\": 0, "
				 "\"interrupted\": false, \"filtered\": true, "
				 "\"whole_from_ns\": null, "
				 "\"percentile_error\": \"at most 1/32 too high\"}");
	profile.first_post = 4;
	profile.last_completion = 5;
	profile.whole_from = 18;
	profile.filtered = false;
	assert_non_null(strstr(print_member("summary"),
			       "\"first_post_ns\": 4, \"last_completion_ns\": 5, "));
	assert_non_null(
		strstr(print_member("summary"), "\"filtered\": false, \"whole_from_ns\": 18, "));
}

TEST(waits_have_their_members)
{
	expect_member("waited", "{\"times\": 0, \"total_ns\": 0, \"longest_ns\": 0, "
				"\"longest\": null, \"full_times\": 0, \"full_ns\": 0, "
				"\"longer_times\": 0, \"longer_ns\": 0, \"threads\": 0}");
	profile.waited = (struct profile_waited){ .known = true,
						  .times = 1,
						  .full = 2,
						  .longer = 3,
						  .ns = 4,
						  .full_ns = 5,
						  .longer_ns = 6,
						  .most = 7,
						  .worst = { 8, 9 },
						  .threads = 10 };
	expect_member("waited", "{\"times\": 1, \"total_ns\": 4, \"longest_ns\": 7, "
				"\"longest\": \"8:9\", \"full_times\": 2, \"full_ns\": 5, "
				"\"longer_times\": 3, \"longer_ns\": 6, \"threads\": 10}");
	profile.waited.known = false;
	expect_member("waited", "null");
}

TEST(requests_have_their_members)
{
	struct profile_requests row = {
		.posted = 1, .completed = 2, .bytes = 3, .least = 33, .most = 64, .inlined = 6
	};
	struct profile_requests none = { .posted = 7 };

	profile.requests[IBV_WR_SEND][profile_size_class(64)] = &row;
	profile.requests[PROFILE_RECEIVE][0] = &none;
	histogram_add(&row.latency, 10);
	histogram_add(&row.latency, 20);
	histogram_add(&row.latency, 20);
	expect_member("requests",
		      "[\n"
		      "    {\"opcode\": \"SEND\", \"size_end\": 64, \"least\": 33, "
		      "\"most\": 64, \"posted\": 1, \"completed\": 2, \"bytes\": 3, "
		      "\"inline\": 6, \"timed\": 3, \"mean_ns\": 16, \"min_ns\": 10, "
		      "\"p50_ns\": 20, \"p90_ns\": 20, \"p99_ns\": 20, \"p999_ns\": 20, "
		      "\"max_ns\": 20, \"latency\": [[10, 10, 1], [20, 20, 2]]},\n"
		      "    {\"opcode\": \"RECV\", \"size_end\": 0, \"least\": 0, "
		      "\"most\": 0, \"posted\": 7, \"completed\": 0, \"bytes\": 0, "
		      "\"inline\": 0, \"timed\": 0, \"mean_ns\": null, \"min_ns\": null, "
		      "\"p50_ns\": null, \"p90_ns\": null, \"p99_ns\": null, "
		      "\"p999_ns\": null, \"max_ns\": null, \"latency\": []}]");
	histogram_fini(&row.latency);
}

TEST(posts_have_their_members)
{
	struct profile_cq cq = { 0 };
	struct profile_cq *cqs[] = { NULL, &cq };
	struct profile_queue *queues[2] = { NULL };

	profile.send = (struct profile_posts){ .posts = 1,
					       .refused = 2,
					       .requests = 3,
					       .bytes = 4,
					       .judged = 5,
					       .signalled = 6,
					       .small = 7,
					       .small_inline = 8,
					       .inlined = 9 };
	profile.receive = (struct profile_posts){ .posts = 10 };
	profile.polls = 11;
	profile.empty = 12;
	profile.failed_polls = 13;
	profile.cqs = cqs;
	profile.queues = queues;
	profile.nobjects = 2;
	histogram_add(&profile.send.list, 1);
	histogram_add(&profile.send.distance, 2);
	histogram_add(&profile.send.gap, 3);
	histogram_add(&profile.poll, 4);
	histogram_add(&cq.gap, 5);
	expect_member("posting",
		      "{\n"
		      "    \"send\": {\"posts\": 1, \"refused\": 2, \"requests\": 3, "
		      "\"bytes\": 4, \"judged\": 5, \"signalled\": 6, \"fit_inline\": 7, "
		      "\"fit_and_inline\": 8, \"inline\": 9, "
		      "\"requests_of_a_post\": [[1, 1, 1]], "
		      "\"signal_distance\": [[2, 2, 1]], \"gap_ns\": [[3, 3, 1]]},\n"
		      "    \"receive\": {\"posts\": 10, \"refused\": 0, \"requests\": 0, "
		      "\"bytes\": 0, \"judged\": 0, \"signalled\": 0, \"fit_inline\": 0, "
		      "\"fit_and_inline\": 0, \"inline\": 0, "
		      "\"requests_of_a_post\": [], \"signal_distance\": [], "
		      "\"gap_ns\": []},\n"
		      "    \"polls\": 11, \"empty_polls\": 12, \"failed_polls\": 13, "
		      "\"completions_of_a_poll\": [[4, 4, 1]], \"poll_gap_ns\": [[5, "
		      "5, 1]]}");
	histogram_fini(&profile.send.list);
	histogram_fini(&profile.send.distance);
	histogram_fini(&profile.send.gap);
	histogram_fini(&profile.poll);
	histogram_fini(&cq.gap);
}

TEST(messages_have_their_members)
{
	histogram_add(&profile.messages.way, 1);
	histogram_add(&profile.messages.lay_sent, 2);
	histogram_add(&profile.messages.lay_received, 3);
	expect_member("messages",
		      "{\n"
		      "    \"on_the_way_at_most\": {\"timed\": 1, \"mean_ns\": 1, "
		      "\"min_ns\": 1, \"p50_ns\": 1, \"p90_ns\": 1, \"p99_ns\": 1, "
		      "\"p999_ns\": 1, \"max_ns\": 1, \"times\": [[1, 1, 1]]},\n"
		      "    \"in_the_cq_of_the_sender_at_least\": {\"timed\": 1, "
		      "\"mean_ns\": 2, \"min_ns\": 2, \"p50_ns\": 2, \"p90_ns\": 2, "
		      "\"p99_ns\": 2, \"p999_ns\": 2, \"max_ns\": 2, \"times\": [[2, 2, "
		      "1]]},\n"
		      "    \"in_the_cq_of_the_receiver_at_least\": {\"timed\": 1, "
		      "\"mean_ns\": 3, \"min_ns\": 3, \"p50_ns\": 3, \"p90_ns\": 3, "
		      "\"p99_ns\": 3, \"p999_ns\": 3, \"max_ns\": 3, \"times\": [[3, 3, "
		      "1]]}}");
	histogram_fini(&profile.messages.way);
	histogram_fini(&profile.messages.lay_sent);
	histogram_fini(&profile.messages.lay_received);
}

TEST(starved_receivers_have_their_members)
{
	struct profile_queue queue = { .starved = { 1, 2, 3, 4, 0, 0 } };
	struct profile_queue *queues[] = { NULL, &queue };
	struct profile_cq *cqs[2] = { NULL };

	profile.queues = queues;
	profile.cqs = cqs;
	profile.nobjects = 2;
	expect_member("starved", "{\"messages\": 1, \"stalls\": 2, \"total_ns\": 3, "
				 "\"longest_ns\": 4}");
	expect_member("clusters", "[]");
}

TEST(places_have_their_members)
{
	struct profile_place places[] = {
		{ .verb = VERB_reg_mr, .calls = 1, .stack = 2 },
		{ .verb = VERB_post_send,
		  .stack = 1,
		  .calls = 2,
		  .errors = 3,
		  .ns = 4,
		  .posting = 5,
		  .posting_ns = 6,
		  .bytes = 7,
		  .posts = 8,
		  .requests = 9,
		  .judged = 10,
		  .signalled = 11,
		  .small = 12,
		  .small_inline = 13,
		  .inlined = 14 },
		{ .verb = VERB_alloc_pd },
	};

	profile.places = places;
	profile.nplaces = 3;
	expect_member("places", "[\n"
				"    {\"verb\": \"ibv_post_send\", \"place\": null, \"stack\": 1, "
				"\"calls\": 2, \"errors\": 3, \"total_ns\": 4, "
				"\"while_posting\": 5, \"while_posting_ns\": 6, \"bytes\": 7, "
				"\"posts\": 8, \"requests\": 9, \"judged\": 10, \"signalled\": 11, "
				"\"fit_inline\": 12, \"fit_and_inline\": 13, \"inline\": 14},\n"
				"    {\"verb\": \"ibv_reg_mr\", \"place\": null, \"stack\": 2, "
				"\"calls\": 1, \"errors\": 0, \"total_ns\": 0, "
				"\"while_posting\": 0, \"while_posting_ns\": 0, \"bytes\": 0, "
				"\"posts\": 0, \"requests\": 0, \"judged\": 0, \"signalled\": 0, "
				"\"fit_inline\": 0, \"fit_and_inline\": 0, \"inline\": 0}]");
}

TEST(processes_and_threads)
{
	struct profile_process processes[] = {
		{ .id = 1, .first = -1 },
		{ .id = 2,
		  .threads = 3,
		  .queues = 4,
		  .calls = 5,
		  .posts = 6,
		  .requests = 7,
		  .completions = 8,
		  .errors = 9,
		  .polls = 10,
		  .empty = 11,
		  .sent = 12,
		  .received = 13,
		  .first = 0,
		  .last = 15 },
	};
	struct profile_thread threads[] = {
		{ 0 },
		{ .id = 2,
		  .process = 3,
		  .calls = 4,
		  .posts = 5,
		  .requests = 6,
		  .completions = 7,
		  .polls = 8,
		  .empty = 9,
		  .control_ns = 10,
		  .waits = 11,
		  .waited_ns = 12 },
	};

	profile.processes = processes;
	profile.nprocesses = 2;
	profile.threads = threads;
	profile.nthreads = 2;
	expect_member("processes",
		      "[\n"
		      "    {\"process\": 2, \"threads\": 3, \"queues\": 4, \"calls\": 5, "
		      "\"posts\": 6, \"requests\": 7, \"completions\": 8, \"errors\": 9, "
		      "\"polls\": 10, \"empty_polls\": 11, \"sent_bytes\": 12, "
		      "\"received_bytes\": 13, \"first_ns\": 0, \"last_ns\": 15}]");
	assert_string_equal(print_member("threads"),
			    "[\n"
			    "    {\"thread\": 2, \"process\": 3, \"calls\": 4, "
			    "\"control_ns\": 10, \"posts\": 5, \"requests\": 6, "
			    "\"completions\": 7, \"polls\": 8, \"empty_polls\": 9, "
			    "\"waits\": 11, \"waited_ns\": 12}]");
}

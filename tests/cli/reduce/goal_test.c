/*
 * The result that a reduced trace must show
 */
#include "cli/reduce/goal.h"

#include <errno.h>
#include <string.h>

#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

struct row {
	const char *name, *text;
	int err;
	const char *told; /* the result of goal_text(); or a part of the error message */
};

/* clang-format off */
static const struct row rows[] = {
	{ "a_status", "status of 1:60 = REM_ACCESS_ERR", 0,
	  "completion 1:60[0] with IBV_WC_REM_ACCESS_ERR" },
	{ "a_status_of_one_of_a_poll", "status of 1:60[2]=ibv_wc_rem_access_err", 0,
	  "completion 1:60[2] with IBV_WC_REM_ACCESS_ERR" },
	{ "a_divergence", "divergence at 2:7 ret", 0, "divergence at 2:7: ret" },
	{ "any_divergence", "divergence", 0, "divergence at any event" },
	{ "a_finding", "finding LIFE-001", 0, "finding LIFE-001" },
	{ "a_finding_of_an_object", "MKEY-001 of mr1/2", 0, "finding MKEY-001 of mr1" },
	{ "nothing", "", -EINVAL, "is not one of" },
	{ "only_words_that_fill", " of the ", -EINVAL, "is not one of" },
	{ "no_event", "status of x = FLUSH_ERR", -EINVAL, "is not one of" },
	{ "no_such_status", "status of 1:1 = NONE", -EINVAL, "unknown completion status 'NONE'" },
	{ "thread_0", "divergence at 0:1", -EINVAL, "is not one of" },
	{ "more_behind_an_event", "divergence at 1:2x", -EINVAL, "is not one of" },
	{ "an_event_alone", "1:60", -EINVAL, "is not one of" },
	{ "too_many_words", "a b c d e f g h i j", -EINVAL, "is not one of" },
};
/* clang-format on */

static void read_goal(void **state)
{
	const struct row *row = *state;
	char complaint[GOAL_COMPLAINT] = "", told[GOAL_COMPLAINT];
	struct goal goal;

	assert_int_equal(goal_read(row->text, &goal, complaint), row->err);
	if (row->err)
		assert_non_null(strstr(complaint, row->told));
	else
		assert_string_equal(goal_text(&goal, told), row->told);
}
TEST_ROWS(rows, read_goal);

static bool shows_goal(struct goal *goal, bool whole, const char *json)
{
	return goal_is_shown(goal, whole, 0, json, strlen(json));
}

static void read_text(const char *text, struct goal *goal)
{
	char complaint[GOAL_COMPLAINT];

	assert_int_equal(goal_read(text, goal, complaint), 0);
}

TEST(a_part_with_another_error_does_not_show_a_finding)
{
	static const char whole[] =
		"{\"findings\":[{\"rule\":\"LIFE-001\",\"object\":\"qp1\",\"severity\":\"error\"}]}";
	static const char other[] =
		"{\"findings\":[{\"rule\":\"LIFE-001\",\"object\":\"qp1\",\"severity\":\"error\"},"
		"{\"rule\":\"STATE-001\",\"object\":\"qp1\",\"severity\":\"error\"}]}";
	struct goal goal;

	read_text("LIFE-001", &goal);
	assert_true(shows_goal(&goal, true, whole));
	assert_true(shows_goal(&goal, false, whole));
	assert_false(shows_goal(&goal, false, other));
	assert_false(shows_goal(&goal, false, "{\"findings\":[]}"));
	goal_fini(&goal);
}

TEST(a_part_shows_the_finding_of_the_same_object)
{
	struct goal goal;

	read_text("LIFE-001", &goal);
	assert_true(shows_goal(&goal, true,
			       "{\"findings\":[{\"rule\":\"LIFE-001\",\"object\":\"qp1\"}]}"));
	assert_false(shows_goal(&goal, false,
				"{\"findings\":[{\"rule\":\"LIFE-001\",\"object\":\"qp2\"}]}"));
	goal_fini(&goal);
}

TEST(a_part_shows_the_divergence_that_the_whole_has)
{
	static const char whole[] =
		"{\"divergence\":[{\"event\":\"1:5\",\"field\":\"wc[3].status\","
		"\"replayed\":\"IBV_WC_SUCCESS\"}]}";
	static const char moved[] =
		"{\"divergence\":[{\"event\":\"1:5\",\"field\":\"wc[0].status\","
		"\"replayed\":\"IBV_WC_SUCCESS\"}]}";
	static const char other[] =
		"{\"divergence\":[{\"event\":\"1:5\",\"field\":\"wc[0].status\","
		"\"replayed\":\"IBV_WC_RETRY_EXC_ERR\"}]}";
	struct goal goal;

	read_text("divergence", &goal);
	assert_true(shows_goal(&goal, true, whole));
	assert_int_equal(goal.id.n, 5);
	assert_true(shows_goal(&goal, false, moved));
	assert_false(shows_goal(&goal, false, other));
}

TEST(a_part_makes_no_more_peers_than_the_whole)
{
	struct goal goal;

	read_text("status of 1:5 = WR_FLUSH_ERR", &goal);
	assert_true(shows_goal(&goal, true, "{\"divergences\":0,\"whole\":true}"));
	assert_false(shows_goal(
		&goal, false, "{\"divergences\":0,\"whole\":true,\"made\":{\"peers\":[\"qp1\"]}}"));
	assert_false(shows_goal(&goal, false, "{\"divergences\":0,\"whole\":false}"));
	assert_false(shows_goal(&goal, false, "{\"divergences\":1,\"whole\":true}"));
}

static const char *argument_of(const struct goal *goal, const char *name)
{
	static const struct goal_how how = { .timeout = "250ms" };
	static const char *argv[GOAL_ARGUMENTS];
	size_t i = 0;

	goal_command(goal, &how, "t.db", argv);
	while (argv[i] && strcmp(argv[i], name) != 0)
		i++;
	return argv[i];
}

TEST(a_trial_ends_where_it_is_known_to_fail)
{
	struct goal goal;

	read_text("status of 1:5 = WR_FLUSH_ERR", &goal);
	assert_non_null(argument_of(&goal, "--fail-fast"));
	read_text("divergence at 1:5", &goal);
	assert_null(argument_of(&goal, "--fail-fast"));
	goal.first = true;
	assert_non_null(argument_of(&goal, "--fail-fast"));
}

TEST(a_trial_waits_as_long_as_the_replay_before_it_had_to)
{
	struct goal goal;
	int64_t none;

	read_text("divergence", &goal);
	assert_true(shows_goal(&goal, true, "{\"divergence\":[{\"event\":\"1:5\"}]}"));
	none = goal_timeout(&goal);
	assert_true(none > 0 && none < 1000000000);
	assert_true(shows_goal(&goal, false,
			       "{\"longest_wait_ns\":500000000,"
			       "\"divergence\":[{\"event\":\"1:5\"}]}"));
	assert_true(goal_timeout(&goal) >= 1000000000);
	assert_true(shows_goal(&goal, false,
			       "{\"longest_wait_ns\":9223372036854775807,"
			       "\"divergence\":[{\"event\":\"1:5\"}]}"));
	assert_int_equal(goal_timeout(&goal), 10000000000);
}

/* A slow machine must not pass for one on which it does not come. */
TEST(what_does_not_come_is_waited_for_longer)
{
	struct goal goal;

	read_text("divergence", &goal);
	assert_true(shows_goal(&goal, true,
			       "{\"divergence\":[{\"event\":\"1:5\","
			       "\"replayed\":\"no event\"}]}"));
	assert_true(goal_timeout(&goal) >= 1000000000);
}

TEST(what_is_no_report_shows_nothing)
{
	struct goal goal;

	read_text("divergence", &goal);
	assert_false(shows_goal(&goal, true, ""));
	assert_false(shows_goal(&goal, true, "[]"));
	assert_false(goal_is_shown(&goal, true, 3, "{}", 2));
	assert_false(goal_is_shown(&goal, true, -1, "", 0));
	assert_false(goal_replays(&goal, true, 1, "{\"divergences\":0,\"whole\":true}", 30));
}

/* A trace of one poll, with a success and two errors. Returns the number of the poll. */
static uint32_t make_poll_of_three(const char *path)
{
	const struct event_wc wcs[] = { make_wc(1, IBV_WC_SUCCESS, IBV_WC_SEND, 17),
					make_wc(2, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 17),
					make_wc(3, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 17) };
	struct writer *writer = make_writer(path);
	struct make_world world;
	struct maker maker;
	uint32_t n;

	make_thread(&maker, writer, 0, 100, 101);
	make_process(&maker, 1, 0, 0, 0);
	make_world(&maker, &world, 17);
	n = make_poll(&maker, &world.cq, 0, wcs, 3);
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	return n;
}

static int find_goal(struct trace *trace, uint32_t n, const char *rest, struct goal *goal,
		     char complaint[GOAL_COMPLAINT])
{
	char text[64];

	snprintf(text, sizeof(text), "status of 1:%u%s", n, rest);
	read_text(text, goal);
	return goal_find(goal, trace, complaint);
}

TEST(a_status_is_found_in_its_poll)
{
	const char *path = make_path("goal.db");
	uint32_t n = make_poll_of_three(path);
	char complaint[GOAL_COMPLAINT] = "";
	struct trace *trace;
	struct goal goal;

	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(find_goal(trace, n, " = WR_FLUSH_ERR", &goal, complaint), 0);
	assert_int_equal(goal.i, 1);
	assert_int_equal(find_goal(trace, n, "[2] = WR_FLUSH_ERR", &goal, complaint), 0);
	assert_int_equal(goal.i, 2);
	assert_string_equal(complaint, "");
	assert_int_equal(find_goal(trace, n, "[0] = WR_FLUSH_ERR", &goal, complaint), -ENOENT);
	assert_non_null(strstr(complaint, "with a completion IBV_WC_WR_FLUSH_ERR"));
	assert_int_equal(find_goal(trace, n, " = LOC_LEN_ERR", &goal, complaint), -ENOENT);
	assert_int_equal(find_goal(trace, n - 1, " = WR_FLUSH_ERR", &goal, complaint), -ENOENT);
	read_text("LIFE-001", &goal);
	assert_int_equal(goal_find(&goal, trace, complaint), 0);
	trace_close(trace);
	unlink(path);
}

/*
 * The lines of `verbatim top`
 */
#include "cli/top/frame.h"
#include "tests/test.h"

static struct vitals_state vitals;
static struct frame frame;

static struct vitals_counts make_largest(void)
{
	return (struct vitals_counts){ UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2,
				       UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2 };
}

static void fill_state(void)
{
	struct vitals_totals totals = { make_largest(), UINT64_MAX, UINT64_MAX, UINT64_MAX,
					UINT64_MAX,     UINT64_MAX, UINT64_MAX, INT64_MAX };

	vitals = (struct vitals_state){ .phase = VITALS_BEHIND,
					.one_of = 2,
					.time = 1,
					.seen = INT64_MAX,
					.interval = 1,
					.events = UINT64_MAX,
					.lost = UINT64_MAX,
					.bytes = UINT64_MAX,
					.processes = UINT32_MAX,
					.threads = UINT32_MAX,
					.all = totals,
					.since = totals,
					.nlatencies = VITALS_OPCODES,
					.nqueues = VITALS_QUEUES,
					.queues_of_all = UINT32_MAX };
	for (int i = 0; i < VITALS_OPCODES; i++)
		vitals.latencies[i] = (struct vitals_latency){ UINT32_MAX, UINT64_MAX, INT64_MAX,
							       INT64_MAX, INT64_MAX };
	for (int i = 0; i < VITALS_QUEUES; i++) {
		vitals.queues[i] = (struct vitals_queue){
			.process = 65536,
			.all = make_largest(),
			.since = make_largest(),
			.send = { 32768, 32768, true },
			.receive = { 32768, 32768, true },
			.latency = { 0, 1, INT64_MAX, INT64_MAX, INT64_MAX },
		};
		memset(vitals.queues[i].name, 'q', VITALS_NAME - 1);
	}
}

TEST(lines_are_no_longer_than_the_terminal)
{
	for (unsigned int columns = 1; columns <= FRAME_COLUMNS; columns++) {
		fill_state();
		frame_make(&vitals, "t.db", "prog", FRAME_TRAFFIC, columns, FRAME_LINES, &frame);
		for (unsigned int i = 0; i < frame.n; i++)
			assert_in_range(strlen(frame.lines[i].text), 0, columns);
	}
}

TEST(there_are_no_more_lines_than_the_terminal_has)
{
	fill_state();
	for (unsigned int rows = 0; rows <= FRAME_LINES; rows++) {
		frame_make(&vitals, "t.db", "prog", FRAME_ERRORS, 80, rows, &frame);
		assert_in_range(frame.n, 0, rows);
	}
	frame_make(&vitals, "t.db", "prog", FRAME_ERRORS, 80, 24, &frame);
	assert_int_equal(frame.n, 24);
	assert_memory_equal(frame.lines[17].text, "queue ", 6);
}

TEST(names_cannot_move_the_cursor)
{
	fill_state();
	snprintf(vitals.queues[0].name, VITALS_NAME, "\033[2J\n\x9b");
	frame_make(&vitals, "\033]0;x\a\xc3\xbc.db", "\r\nprog\t\xe2\x80\xae", FRAME_TRAFFIC, 80,
		   FRAME_LINES, &frame);
	for (unsigned int i = 0; i < frame.n; i++)
		for (const char *at = frame.lines[i].text; *at; at++)
			assert_in_range(*at, ' ', '~');
}

static const char *name_at(enum frame_sort sort)
{
	static char name[3];

	frame_make(&vitals, "t.db", "prog", sort, 80, FRAME_LINES, &frame);
	for (unsigned int i = 0; i < frame.n; i++)
		if (!strncmp(frame.lines[i].text, "queue ", 6))
			snprintf(name, sizeof(name), "%.2s", frame.lines[i + 1].text);
	return name;
}

TEST(queues_are_sorted)
{
	vitals = (struct vitals_state){ .nqueues = 4 };
	for (int i = 0; i < 4; i++)
		snprintf(vitals.queues[i].name, VITALS_NAME, "q%d", i);
	vitals.queues[1].all.errors = 3;
	vitals.queues[2].latency.most_of_all = 9;
	vitals.queues[3].receive = (struct vitals_depth){ 5, 9, true };
	assert_string_equal(name_at(FRAME_TRAFFIC), "q0"); /* as they come */
	assert_string_equal(name_at(FRAME_ERRORS), "q1");
	assert_string_equal(name_at(FRAME_LATENCY), "q2");
	assert_string_equal(name_at(FRAME_OUTSTANDING), "q3");
}

TEST(what_is_not_certain_is_not_shown)
{
	vitals = (struct vitals_state){ .nqueues = 3 };
	vitals.queues[0].send = (struct vitals_depth){ 7, 9, false };
	vitals.queues[1].send = (struct vitals_depth){ 7, 9, true };
	vitals.queues[2].gone = true;
	frame_make(&vitals, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	assert_null(strstr(frame.lines[frame.n - 3].text, "7/9"));
	assert_non_null(strstr(frame.lines[frame.n - 3].text, "?"));
	assert_non_null(strstr(frame.lines[frame.n - 2].text, "7/9"));
	assert_null(strstr(frame.lines[frame.n - 1].text, "?"));
}

/* Earlier recorded events have not been counted yet: their number is not 0. */
TEST(what_is_not_counted_yet_is_not_0)
{
	static const struct vitals_state behind = { .phase = VITALS_BEHIND, .seen = 1000000 };
	struct vitals_state idle = behind;

	frame_make(&behind, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	for (unsigned int i = 4; i <= 8; i++) {
		assert_non_null(strchr(frame.lines[i].text, '?'));
		assert_null(strstr(frame.lines[i].text, " 0"));
	}
	idle.phase = VITALS_RUNNING;
	frame_make(&idle, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	for (unsigned int i = 4; i <= 8; i++)
		assert_null(strchr(frame.lines[i].text, '?'));
}

/*
 * The lines of `verbatim top`, and its JSON: those of two states are in frame_test.txt.
 */
#include "cli/top/frame.h"
#include "tests/test.h"
#include "tests/transcript.h"

static struct live_state vitals;
static struct screen_frame frame;

static struct live_counts make_largest(void)
{
	return (struct live_counts){ UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2,
				     UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2 };
}

static void fill_state(void)
{
	struct live_totals totals = { make_largest(), UINT64_MAX, UINT64_MAX, UINT64_MAX,
				      UINT64_MAX,     UINT64_MAX, UINT64_MAX, INT64_MAX };

	vitals = (struct live_state){ .phase = LIVE_BEHIND,
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
				      .nlatencies = LIVE_OPCODES,
				      .nqueues = LIVE_QUEUES,
				      .queues_of_all = UINT32_MAX };
	for (int i = 0; i < LIVE_OPCODES; i++)
		vitals.latencies[i] = (struct live_latency){ UINT32_MAX, UINT64_MAX, INT64_MAX,
							     INT64_MAX, INT64_MAX };
	for (int i = 0; i < LIVE_QUEUES; i++) {
		vitals.queues[i] = (struct live_queue){
			.process = 65536,
			.all = make_largest(),
			.since = make_largest(),
			.send = { 32768, 32768, true },
			.receive = { 32768, 32768, true },
			.latency = { 0, 1, INT64_MAX, INT64_MAX, INT64_MAX },
		};
		memset(vitals.queues[i].name, 'q', LIVE_NAME - 1);
	}
}

TEST(lines_are_no_longer_than_the_terminal)
{
	for (unsigned int columns = 1; columns <= FRAME_COLUMNS; columns++) {
		fill_state();
		screen_frame_fill(&vitals, "t.db", "prog", FRAME_TRAFFIC, columns, FRAME_LINES,
				  &frame);
		for (unsigned int i = 0; i < frame.n; i++)
			assert_in_range(strlen(frame.lines[i].text), 0, columns);
	}
}

TEST(there_are_no_more_lines_than_the_terminal_has)
{
	fill_state();
	for (unsigned int rows = 0; rows <= FRAME_LINES; rows++) {
		screen_frame_fill(&vitals, "t.db", "prog", FRAME_ERRORS, 80, rows, &frame);
		assert_in_range(frame.n, 0, rows);
	}
	screen_frame_fill(&vitals, "t.db", "prog", FRAME_ERRORS, 80, 24, &frame);
	assert_int_equal(frame.n, 24);
	assert_memory_equal(frame.lines[17].text, "queue ", 6);
}

TEST(names_cannot_move_the_cursor)
{
	fill_state();
	snprintf(vitals.queues[0].name, LIVE_NAME, "\033[2J\n\x9b");
	screen_frame_fill(&vitals, "\033]0;x\a\xc3\xbc.db", "\r\nprog\t\xe2\x80\xae", FRAME_TRAFFIC,
			  80, FRAME_LINES, &frame);
	for (unsigned int i = 0; i < frame.n; i++)
		for (const char *at = frame.lines[i].text; *at; at++)
			assert_in_range(*at, ' ', '~');
}

static const char *name_at(enum frame_sort sort)
{
	static char name[3];

	screen_frame_fill(&vitals, "t.db", "prog", sort, 80, FRAME_LINES, &frame);
	for (unsigned int i = 0; i < frame.n; i++)
		if (!strncmp(frame.lines[i].text, "queue ", 6))
			snprintf(name, sizeof(name), "%.2s", frame.lines[i + 1].text);
	return name;
}

TEST(queues_are_sorted)
{
	vitals = (struct live_state){ .nqueues = 4 };
	for (int i = 0; i < 4; i++)
		snprintf(vitals.queues[i].name, LIVE_NAME, "q%d", i);
	vitals.queues[1].all.errors = 3;
	vitals.queues[2].latency.most_of_all = 9;
	vitals.queues[3].receive = (struct live_depth){ 5, 9, true };
	assert_string_equal(name_at(FRAME_TRAFFIC), "q0"); /* as they come */
	assert_string_equal(name_at(FRAME_ERRORS), "q1");
	assert_string_equal(name_at(FRAME_LATENCY), "q2");
	assert_string_equal(name_at(FRAME_OUTSTANDING), "q3");
}

TEST(what_is_not_certain_is_not_shown)
{
	vitals = (struct live_state){ .nqueues = 3 };
	vitals.queues[0].send = (struct live_depth){ 7, 9, false };
	vitals.queues[1].send = (struct live_depth){ 7, 9, true };
	vitals.queues[2].gone = true;
	screen_frame_fill(&vitals, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	assert_null(strstr(frame.lines[frame.n - 3].text, "7/9"));
	assert_non_null(strstr(frame.lines[frame.n - 3].text, "?"));
	assert_non_null(strstr(frame.lines[frame.n - 2].text, "7/9"));
	assert_null(strstr(frame.lines[frame.n - 1].text, "?"));
}

/* Earlier recorded events have not been counted yet: their number is not 0. */
TEST(what_is_not_counted_yet_is_not_0)
{
	static const struct live_state behind = { .phase = LIVE_BEHIND, .seen = 1000000 };
	struct live_state idle = behind;

	screen_frame_fill(&behind, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	for (unsigned int i = 4; i <= 8; i++) {
		assert_non_null(strchr(frame.lines[i].text, '?'));
		assert_null(strstr(frame.lines[i].text, " 0"));
	}
	idle.phase = LIVE_RUNNING;
	screen_frame_fill(&idle, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	for (unsigned int i = 4; i <= 8; i++)
		assert_null(strchr(frame.lines[i].text, '?'));
}

/* Numbers of which no two are the same, each around the width of a column. */
static struct live_counts make_counts(uint64_t n)
{
	return (struct live_counts){ 940 * n, 9994 * n, 9995 * n, 99949 * n, 99951 * n, 3 * n };
}

static struct live_totals make_totals(uint64_t n)
{
	return (struct live_totals){ .data = make_counts(n),
				     .flushed = 2 * n,
				     .calls = 12345 * n,
				     .failed = 7 * n,
				     .registered = 4560000 * n,
				     .registered_bytes = 8192 * n,
				     .waits = 999499 * n,
				     .waited_ns = 1500000 * (int64_t)n };
}

static struct live_latency make_latency(uint32_t opcode, uint64_t count, int64_t half)
{
	return (struct live_latency){ opcode, count, half, 3 * half, 10 * half };
}

static void put_frame(struct text *to, const struct live_state *state, unsigned int rows)
{
	screen_frame_fill(state, "t.db", "prog --fast", FRAME_TRAFFIC, 100, rows, &frame);
	for (unsigned int i = 0; i < frame.n; i++)
		text_addf(to, "%d %s\n", frame.lines[i].style, frame.lines[i].text);
	screen_frame_json(state, "t.db", "prog --fast", to);
}

TEST(frames_are_as_expected)
{
	struct text all = { 0 };

	vitals = (struct live_state){ .phase = LIVE_RUNNING,
				      .one_of = 1,
				      .time = 5000000000,
				      .seen = 6500000000,
				      .interval = 500000000,
				      .waited_most = 77000,
				      .events = 123456,
				      .bytes = 1 << 20,
				      .processes = 1,
				      .threads = 2,
				      .regions = 11,
				      .all = make_totals(10),
				      .since = make_totals(1),
				      .nlatencies = 7,
				      .nqueues = 3,
				      .queues_of_all = 1 };
	for (uint32_t i = 0; i < 7; i++)
		vitals.latencies[i] = make_latency(i, 5 + i, 1000 + i);
	for (uint32_t i = 0; i < 3; i++)
		vitals.queues[i] = (struct live_queue){ .name = "qp1",
							.process = 1 + i,
							.number = 0x21 + i,
							.all = make_counts(i),
							.since = make_counts(2 * i),
							.send = { 7, 128, i > 0 },
							.receive = { 9, 0, true },
							.latency = make_latency(0, 6, 2000),
							.gone = i == 2 };
	put_frame(&all, &vitals, 40);
	vitals.phase = LIVE_BEHIND;
	vitals.one_of = 4;
	vitals.lost = 1;
	vitals.processes = vitals.queues_of_all = 2;
	vitals.threads = 1;
	vitals.all.failed = vitals.all.data.errors = 0;
	vitals.latencies[0].opcode = UINT32_MAX;
	put_frame(&all, &vitals, 39);
	transcript_expect(__FILE__, &all);
}

/* The number of sends in all, in its column. */
static const char *shown_number(uint64_t n)
{
	static char text[16];

	vitals = (struct live_state){ .phase = LIVE_RUNNING, .all.data.requests = n };
	screen_frame_fill(&vitals, "t.db", "prog", FRAME_TRAFFIC, 80, FRAME_LINES, &frame);
	assert_int_equal(sscanf(frame.lines[5].text, "all %15s", text), 1);
	return text;
}

TEST(numbers_have_at_most_three_digits)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1.00k" },
		{ 9994, "9.99k" },
		{ 9996, "10.0k" },
		{ 99949, "99.9k" },
		{ 99951, "100k" },
		{ 999499, "999k" },
		{ 999500, "1.00M" },
		{ 1000000000, "1.00G" },
		{ 1000000000000, "1.00T" },
		{ 999499999999999, "999T" },
		{ 999500000000000, "1.00P" },
		{ 1000000000000000000, "1.00E" },
		{ UINT64_MAX, "18.4E" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(shown_number(rows[i].n), rows[i].text);
}

TEST(a_low_terminal_has_four_rows_of_latencies)
{
	vitals = (struct live_state){ .nlatencies = 5 };
	screen_frame_fill(&vitals, "t.db", "prog", FRAME_TRAFFIC, 80, 39, &frame);
	assert_int_equal(frame.n, 10 + 2 + 4);
	screen_frame_fill(&vitals, "t.db", "prog", FRAME_TRAFFIC, 80, 40, &frame);
	assert_int_equal(frame.n, 10 + 2 + 5);
	vitals.nlatencies = 4;
	screen_frame_fill(&vitals, "t.db", "prog", FRAME_TRAFFIC, 80, 39, &frame);
	assert_int_equal(frame.n, 10 + 2 + 4);
}

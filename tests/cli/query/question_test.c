#include "cli/query/question.h"
#include <errno.h>

#include "tests/test.h"

/* clang-format off */
static const struct row {
	const char *name; /* the question */
	enum question_kind kind;
	const char *object;
	uint32_t process;
	struct event_id at;
	int64_t time;
	uint64_t number, length;
	struct event_id id;
	uint32_t index;
	bool by_key, by_wr_id;
} rows[] = {
	{ "state of qp3 at 3:1042", QUESTION_state, "qp3", .at = { 3, 1042 }, .time = INT64_MAX },
	{ "what is the state of qp3?", QUESTION_state, "qp3", .time = INT64_MAX },
	{ "what was outstanding on cq1 at 1.5s", QUESTION_outstanding, "cq1",
	  .time = 1500000000 },
	{ "OUTSTANDING qp1 in process 2 at 250us", QUESTION_outstanding, "qp1", 2,
	  .time = 250000 },
	{ "outstanding on qp1/2 at 250us", QUESTION_outstanding, "qp1", 2, .time = 250000 },
	{ "outstanding on qp1/2 in process 2", QUESTION_outstanding, "qp1", 2, .time = INT64_MAX },
	{ "state of qp1 of process 2", QUESTION_state, "qp1", 2, .time = INT64_MAX },
	{ "state of qp1 of process 2 at 83.6 ms", QUESTION_state, "qp1", 2, .time = 83600000 },
	{ "what covers 0x7f00+64 at end", QUESTION_covers, .number = 0x7f00, .length = 64,
	  .time = INT64_MAX },
	{ "covers address 4096", QUESTION_covers, .number = 4096, .length = 1,
	  .time = INT64_MAX },
	{ "what covers key 0x8002 at 1:7 in 3", QUESTION_covers, .process = 3, .at = { 1, 7 },
	  .number = 0x8002, .by_key = true, .time = INT64_MAX },
	{ "which does rkey 5 covers", QUESTION_covers, .number = 5, .by_key = true,
	  .time = INT64_MAX },
	{ "what was registered at 2s", QUESTION_registered, .time = 2000000000 },
	{ "who is the peer of qp1", QUESTION_peer, "qp1", .time = INT64_MAX },
	{ "path of 1:42[3]", QUESTION_path, .id = { 1, 42 }, .index = 3, .time = INT64_MAX },
	{ "path of request 1:42", QUESTION_path, .id = { 1, 42 }, .time = INT64_MAX },
	{ "path of wr_id 0x12", QUESTION_path, .number = 0x12, .by_wr_id = true,
	  .time = INT64_MAX },
};
/* clang-format on */

static void read_row(void **state)
{
	const struct row *row = *state;
	char complaint[QUESTION_COMPLAINT] = "";
	struct question question;

	assert_int_equal(question_read(row->name, &question, complaint), 0);
	assert_int_equal(question.kind, row->kind);
	assert_string_equal(question.object, row->object ? row->object : "");
	assert_int_equal(question.process, row->process);
	assert_int_equal(question.at.id.thread, row->at.thread);
	assert_int_equal(question.at.id.n, row->at.n);
	assert_int_equal(question.at.time, row->time);
	assert_int_equal(question.number, row->number);
	assert_int_equal(question.length, row->length);
	assert_int_equal(question.id.thread, row->id.thread);
	assert_int_equal(question.id.n, row->id.n);
	assert_int_equal(question.index, row->index);
	assert_int_equal(question.by_key, row->by_key);
	assert_int_equal(question.by_wr_id, row->by_wr_id);
}

TEST_ROWS(rows, read_row);

static const struct refusal {
	const char *name, *says;
} refusals[] = {
	{ "", "unknown question" },
	{ "how fast is qp1", "unknown question" },
	{ "state", "needs of OBJECT" },
	{ "state of qp1 at", "not a point in time" },
	{ "state of qp1 at soon", "'soon' is not a point in time" },
	{ "state of qp1 at 0:7", "'0:7' is not a point in time" },
	{ "state of qp1 at 1:0", "'1:0' is not a point in time" },
	{ "state of qp1 at 1:7[2]", "not a point in time" },
	{ "state of qp1 in", "not a process" },
	{ "state of qp1 in process 0", "not a process" },
	{ "state of qp1 in process -1", "not a process" },
	{ "state of qp1 and qp2", "unexpected 'and'" },
	{ "state of qp1/x", "'qp1/x' is not an object" },
	{ "state of qp1/2 in process 1", "'qp1/2' is not an object" },
	{ "covers", "not an address" },
	{ "covers mr1", "'mr1' is not an address" },
	{ "covers 0x10+", "not an address" },
	{ "covers key 0x1ffffffff", "not a key" },
	{ "registered mr1", "unexpected 'mr1'" },
	{ "path of qp1", "not an event" },
	{ "path of 1:42[", "not an event" },
	{ "path of 1:42x", "not an event" },
	{ "path of wr_id", "not a wr_id" },
};

static void refuse_row(void **state)
{
	const struct refusal *row = *state;
	char complaint[QUESTION_COMPLAINT] = "";
	struct question question;

	assert_int_equal(question_read(row->name, &question, complaint), -EINVAL);
	assert_non_null(strstr(complaint, row->says));
}

TEST_ROWS(refusals, refuse_row);

TEST(a_long_question_is_refused)
{
	char complaint[QUESTION_COMPLAINT] = "", text[2000];
	struct question question;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(question_read(text, &question, complaint), -EINVAL);
	memcpy(text, "state of ", 9);
	text[400] = '\0';
	assert_int_equal(question_read(text, &question, complaint), -EINVAL);
	text[9 + QUESTION_NAME - 1] = '\0';
	assert_int_equal(question_read(text, &question, complaint), 0);
	assert_int_equal(strlen(question.object), QUESTION_NAME - 1);
}

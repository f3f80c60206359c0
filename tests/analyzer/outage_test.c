/* analyzer/facts/outage.c: failures that are explained by a port or device that was down. */
#include "analyzer/facts/outage.h"

#include <infiniband/verbs.h>
#include <stdlib.h>

#include "core/store/db/args.h"
#include "core/store/read/trace.h"
#include "tests/test.h"

enum { MS = 1000000, LATE = 1000 * MS, PROCESS = 3, CONTEXT = 0x1000, PORT = 1 };
enum { DOWN = 100 * MS, UP = 200 * MS };

static struct outages *outages;

static int make_outages(void **state)
{
	(void)state;
	outages = outages_new();
	return outages ? 0 : -1;
}

static int free_outages(void **state)
{
	(void)state;
	outages_free(outages);
	return 0;
}

FIXTURE(make_outages, free_outages);

static void get_event(uint32_t process, uint64_t context, int type, unsigned int port, int64_t time)
{
	static uint64_t n;
	char in[64], out[128];
	struct call call = { .verb = VERB_get_async_event, .end = time };
	struct trace_event event = {
		.kind = TRACE_RETURN, .process = process, .id = { 1, ++n }, .call = &call
	};

	snprintf(in, sizeof(in), "{\"context\":%llu}", (unsigned long long)context);
	snprintf(out, sizeof(out), "{\"event\":{\"event_type\":%d,\"port_num\":%u}}", type, port);
	call.args = args_new(in, strlen(in));
	call.out = args_new(out, strlen(out));
	outages_note_event(outages, &event);
	args_unref((struct args *)(uintptr_t)call.args);
	args_unref((struct args *)(uintptr_t)call.out);
}

/* The usual one. */
static void lose_port(void)
{
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, PORT, DOWN);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ACTIVE, PORT, UP);
}

static void expect_sentence(const struct outage_victim *victim, const char *text)
{
	char *sentence = outages_describe(outages, victim, false);

	if (!text)
		assert_null(sentence);
	else if (!sentence || !strstr(sentence, text))
		fail_msg("no '%s' in: %s", text, sentence ? sentence : "nothing");
	free(sentence);
}

/* clang-format off */
static const struct window {
	const char *name;
	int64_t posted, failed;
	const char *says;
} windows[] = {
	{ "posted_and_failed_within",         DOWN + 1 * MS, DOWN + 51 * MS,  ", 51.0 ms earlier" },
	{ "posted_before_and_failed_within",  DOWN - 1 * MS, DOWN + 20 * MS,  ", 20.0 ms earlier" },
	{ "posted_before_failed_after",   DOWN - 1 * MS, UP + 50 * MS,    ", 150.0 ms earlier" },
	{ "posted_at_last_moment",        UP - 1,        UP + 50 * MS,    ", 150.0 ms earlier" },
	{ "posted_when_it_was_up_again",      UP,            UP + 50 * MS,    NULL },
	{ "posted_later",                     UP + 1,        UP + 50 * MS,    NULL },
	{ "failed_when_told",          0,             DOWN,            ", at about the same time" },
	{ "failed_before_it_was_told",        0,             DOWN - 20 * MS,  ", 20.0 ms later" },
	{ "failed_just_less_than_a_second_before", -2 * (int64_t)LATE, DOWN - LATE + 1,
	  ", 1.00 s later" },
	{ "failed_a_second_before",           -2 * (int64_t)LATE, DOWN - LATE, NULL },
};
/* clang-format on */

static void window_is_exact(void **state)
{
	const struct window *row = *state;
	const struct outage_victim victim = { PROCESS,     CONTEXT,     PORT, IBV_WC_RETRY_EXC_ERR,
					      row->posted, row->failed, 0 };

	assert_int_equal(make_outages(NULL), 0);
	lose_port();
	expect_sentence(&victim, row->says);
	if (row->says)
		expect_sentence(&victim, "port 1 was down: IBV_EVENT_PORT_ERR 1:");
	free_outages(NULL);
}
TEST_ROWS(windows, window_is_exact);

static const struct whose {
	const char *name;
	uint32_t process;
	uint64_t context;
	uint32_t port;
	bool hit;
} whoses[] = {
	{ "of_that_port", PROCESS, CONTEXT, PORT, true },
	{ "of_a_port_that_is_not_known", PROCESS, CONTEXT, 0, true },
	{ "of_another_port", PROCESS, CONTEXT, PORT + 1, false },
	{ "of_another_context", PROCESS, CONTEXT + 1, PORT, false },
	{ "of_another_process", PROCESS + 1, CONTEXT, PORT, false },
};

static void whose_it_is_counts(void **state)
{
	const struct whose *row = *state;
	const struct outage_victim victim = {
		row->process, row->context, row->port, IBV_WC_RETRY_EXC_ERR, DOWN, DOWN + MS, 0
	};

	assert_int_equal(make_outages(NULL), 0);
	lose_port();
	expect_sentence(&victim, row->hit ? "port 1 was down" : NULL);
	free_outages(NULL);
}
TEST_ROWS(whoses, whose_it_is_counts);

TEST(a_status_that_no_link_causes_is_not_explained)
{
	struct outage_victim victim = { PROCESS, CONTEXT, PORT, 0, DOWN, DOWN + MS, 0 };

	lose_port();
	for (uint32_t status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		bool link = status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_RETRY_EXC_ERR ||
			    status == IBV_WC_FATAL_ERR || status == IBV_WC_RESP_TIMEOUT_ERR ||
			    status == IBV_WC_GENERAL_ERR;

		victim.status = status;
		expect_sentence(&victim, link ? "port 1 was down" : NULL);
	}
}

/* An event that is repeated while a port is down is not a new outage. */
TEST(an_outage_lasts_from_the_first_event_to_the_next_that_ends_it)
{
	struct outage_victim victim = { PROCESS, CONTEXT,      PORT, IBV_WC_RETRY_EXC_ERR,
					UP,      UP + 10 * MS, 0 };

	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ACTIVE, PORT, DOWN - 2);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, PORT, DOWN);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, PORT, UP);
	expect_sentence(&victim, ", 110.0 ms earlier");
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ACTIVE, PORT, UP);
	expect_sentence(&victim, NULL);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, PORT, UP + 5 * MS);
	expect_sentence(&victim, ", 5.0 ms earlier");
}

TEST(each_port_has_its_own)
{
	const struct outage_victim first = { PROCESS, CONTEXT, 1, IBV_WC_RETRY_EXC_ERR,
					     UP,      UP + MS, 0 },
				   second = { PROCESS, CONTEXT, 2, IBV_WC_RETRY_EXC_ERR,
					      UP,      UP + MS, 0 };

	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, 1, DOWN);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, 2, DOWN);
	get_event(PROCESS + 1, CONTEXT, IBV_EVENT_PORT_ACTIVE, 2, UP);
	get_event(PROCESS, CONTEXT + 1, IBV_EVENT_PORT_ACTIVE, 2, UP);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ACTIVE, 1, UP);
	expect_sentence(&first, NULL);
	expect_sentence(&second, "port 2 was down");
}

TEST(a_device_that_failed_explains_all_that_follows)
{
	struct outage_victim victim = {
		PROCESS, CONTEXT, 2, IBV_WC_FATAL_ERR, DOWN, 3000ll * MS, 0
	};

	get_event(PROCESS, CONTEXT, IBV_EVENT_DEVICE_FATAL, PORT, DOWN);
	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ACTIVE, PORT, UP);
	expect_sentence(&victim, "the device was down: IBV_EVENT_DEVICE_FATAL 1:");
	victim.failed = DOWN - LATE;
	expect_sentence(&victim, NULL);
}

static bool is_known(int type)
{
	return type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_DEVICE_FATAL ||
	       type == IBV_EVENT_LID_CHANGE || type == IBV_EVENT_PKEY_CHANGE ||
	       type == IBV_EVENT_GID_CHANGE;
}

TEST(events_of_other_kinds_are_none)
{
	struct outage_victim victim = {
		PROCESS, CONTEXT, PORT, IBV_WC_RETRY_EXC_ERR, DOWN, DOWN, 0
	};

	for (int type = 0; type <= IBV_EVENT_WQ_FATAL; type++)
		if (!is_known(type))
			get_event(PROCESS, CONTEXT, type, PORT, DOWN);
	expect_sentence(&victim, NULL);
}

/* clang-format off */
static const struct change {
	const char *name;
	int type;
	int64_t posted;
	const char *says;
} changes[] = {
	{ "gids_changed_before_the_post", IBV_EVENT_GID_CHANGE, DOWN + 12 * MS,
	  "the GIDs of port 1 had changed: IBV_EVENT_GID_CHANGE 1:" },
	{ "gids_changed_after_the_post", IBV_EVENT_GID_CHANGE, 0, "the GIDs of port 1 had" },
	{ "a_lid_changed", IBV_EVENT_LID_CHANGE, DOWN, "the LID of port 1 had" },
	{ "keys_changed", IBV_EVENT_PKEY_CHANGE, DOWN, "the P_Keys of port 1 had" },
	{ "just_less_than_a_second_before", IBV_EVENT_GID_CHANGE, DOWN + LATE - 1, "GID_CHANGE" },
	{ "a_second_before", IBV_EVENT_GID_CHANGE, DOWN + LATE, NULL },
};
/* clang-format on */

static void change_counts_shortly_before_the_post(void **state)
{
	const struct change *row = *state;
	const struct outage_victim victim = {
		PROCESS, CONTEXT, PORT, IBV_WC_RETRY_EXC_ERR, row->posted, row->posted + 200 * MS, 0
	};

	assert_int_equal(make_outages(NULL), 0);
	get_event(PROCESS, CONTEXT, row->type, PORT, DOWN);
	expect_sentence(&victim, row->says);
	free_outages(NULL);
}
TEST_ROWS(changes, change_counts_shortly_before_the_post);

TEST(a_port_that_was_down_goes_before_a_change)
{
	const struct outage_victim victim = { PROCESS, CONTEXT,       PORT, IBV_WC_RETRY_EXC_ERR,
					      DOWN,    DOWN + 5 * MS, 0 };

	get_event(PROCESS, CONTEXT, IBV_EVENT_PORT_ERR, PORT, DOWN + 1);
	get_event(PROCESS, CONTEXT, IBV_EVENT_GID_CHANGE, PORT, DOWN + 2);
	expect_sentence(&victim, "port 1 was down: IBV_EVENT_PORT_ERR 1:");
}

TEST(the_order_of_two_clocks_is_not_reported)
{
	struct outage_victim victim = { PROCESS, CONTEXT, PORT,    IBV_WC_RETRY_EXC_ERR,
					DOWN,    UP - MS, 100 * MS };

	lose_port();
	expect_sentence(&victim, "IBV_EVENT_PORT_ERR 1:");
	expect_sentence(&victim, ", at about the same time");
	victim.slack = INT64_MAX;
	expect_sentence(&victim, NULL);
}

TEST(nothing_is_freed)
{
	outages_free(NULL);
}

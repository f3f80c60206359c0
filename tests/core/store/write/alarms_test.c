/*
 * Which failures are counted while they are written
 */
#include "core/store/write/writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/core/store/make_events.h"
#include "tests/test.h"

static struct writer *writer;
static struct make_world world;
static struct maker maker;
static char path[256];
static struct writer_alarm last;
static char last_error[WRITER_ALARM_NAME * 2];
static int nalarms;

static void note_alarm(void *arg, const struct writer_alarm *alarm)
{
	(void)arg;
	last = *alarm;
	snprintf(last_error, sizeof(last_error), "%s", alarm->error);
	nalarms++;
}

static int begin_writing(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("alarms.db"));
	unlink(path);
	writer = make_writer(path);
	nalarms = 0;
	writer_on_alarm(writer, note_alarm, NULL);
	make_thread(&maker, writer, 0, 100, 101);
	make_process(&maker, 1, 0, 0, 0);
	make_world(&maker, &world, 17);
	return 0;
}

static int end_writing(void **state)
{
	(void)state;
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	return unlink(path);
}

FIXTURE(begin_writing, end_writing);

TEST(failed_verb_is_counted_and_reported)
{
	uint32_t n =
		make_verb(&maker, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&world.pd), 1, 64, 1), 0, ENOMEM);

	make_drain(&maker);
	assert_int_equal(writer_alarms(writer).failed, 1);
	assert_int_equal(nalarms, 1);
	assert_int_equal(last.kind, ALARM_VERB);
	assert_string_equal(last.verb, "ibv_reg_mr");
	assert_string_equal(last_error, "ENOMEM");
	assert_int_equal(last.n, n);
	assert_int_equal(last.process, 1);
}

TEST(failure_that_programs_expect_is_not)
{
	enum { ON_DEMAND = 1 << 6 };

	make_verb(&maker, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&world.pd), 1, 64, ON_DEMAND), 0,
		  EOPNOTSUPP);
	make_drain(&maker);
	assert_int_equal(writer_alarms(writer).failed, 0);
	assert_int_equal(nalarms, 0);
}

TEST(verb_inside_another_is_not)
{
	const uint64_t *args = MAKE_ARGS(MAKE_PTR(&world.pd), 1, 64, 1);
	uint32_t outer = make_call(&maker, VERB_reg_mr, 0, 0, args);
	uint32_t inner = make_call(&maker, VERB_reg_mr, 1, 0, args);

	make_return(&maker, inner, VERB_reg_mr, args, 0, ENOMEM);
	make_return(&maker, outer, VERB_reg_mr, args, 0, ENOMEM);
	make_drain(&maker);
	assert_int_equal(writer_alarms(writer).failed, 1);
}

TEST(completion_in_error_counts_and_its_flushes_do_not)
{
	struct event_wc wcs[] = { make_wc(7, IBV_WC_RETRY_EXC_ERR, IBV_WC_SEND, 17),
				  make_wc(8, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 17),
				  make_wc(9, IBV_WC_SUCCESS, IBV_WC_SEND, 17) };

	make_poll(&maker, &world.cq, 1, wcs, 3);
	make_drain(&maker);
	assert_int_equal(writer_alarms(writer).errors, 1);
	assert_int_equal(nalarms, 1);
	assert_int_equal(last.kind, ALARM_COMPLETION);
	assert_string_equal(last_error, "IBV_WC_RETRY_EXC_ERR");
	assert_int_equal(last.wr_id, 7);
	assert_int_equal(last.qp_num, 17);
}

static void get_event(enum ibv_event_type type)
{
	struct ibv_async_event event = { .event_type = type };

	event.element.qp = &world.qp;
	make_verb(&maker, VERB_get_async_event,
		  MAKE_ARGS(MAKE_PTR(&world.context), MAKE_PTR(&event)), 0, 0);
	make_drain(&maker);
}

TEST(fatal_events_are_counted_and_others_not)
{
	get_event(IBV_EVENT_COMM_EST);
	get_event(IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(nalarms, 0);
	get_event(IBV_EVENT_QP_FATAL);
	assert_int_equal(nalarms, 1);
	assert_int_equal(last.kind, ALARM_EVENT);
	assert_string_equal(last.verb, "ibv_get_async_event");
	assert_string_equal(last_error, "IBV_EVENT_QP_FATAL");
	get_event(IBV_EVENT_PORT_ERR);
	assert_string_equal(last_error, "IBV_EVENT_PORT_ERR");
	assert_int_equal(nalarms, 2);
	assert_int_equal(writer_alarms(writer).fatal, 2);
	assert_int_equal(writer_alarms(writer).failed, 0);
}

/* A post that returned @ret. */
static uint32_t post_with(int ret, unsigned int flags)
{
	struct event_post *e = make_room(&maker, EVENT_POST, flags, sizeof(*e));
	uint32_t n;

	e->object = MAKE_PTR(&world.qp);
	e->verb = VERB_post_send;
	e->ret = ret;
	n = make_done(&maker, e, sizeof(*e));
	make_drain(&maker);
	return n;
}

TEST(posts_that_failed_are_counted)
{
	uint32_t n;

	post_with(0, 0);
	post_with(ENOMEM, EVENT_INNER);
	assert_int_equal(nalarms, 0);
	n = post_with(ENOMEM, 0);
	assert_int_equal(nalarms, 1);
	assert_int_equal(last.n, n);
	assert_string_equal(last.verb, "ibv_post_send");
	assert_string_equal(last_error, "ENOMEM");
	post_with(4095, 0);
	assert_string_equal(last_error, "4095");
	assert_int_equal(writer_alarms(writer).failed, 2);
}

TEST(polls_that_failed_are_counted)
{
	struct event_poll *e = make_room(&maker, EVENT_POLL, 0, sizeof(*e));

	e->cq = MAKE_PTR(&world.cq);
	e->ret = -EIO;
	make_done(&maker, e, sizeof(*e));
	make_drain(&maker);
	assert_int_equal(nalarms, 1);
	assert_string_equal(last.verb, "ibv_poll_cq");
	assert_string_equal(last_error, "EIO");
	e = make_room(&maker, EVENT_POLL, EVENT_INNER, sizeof(*e));
	e->cq = MAKE_PTR(&world.cq);
	e->ret = -EIO;
	make_done(&maker, e, sizeof(*e));
	make_drain(&maker);
	assert_int_equal(nalarms, 1);
}

/* The last counter is that of all statuses that nobody knows. */
TEST(statuses_are_counted_one_by_one)
{
	struct event_wc wcs[] = {
		make_wc(1, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 17),
		make_wc(2, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 17),
		make_wc(3, IBV_WC_LOC_LEN_ERR, IBV_WC_SEND, 17),
		make_wc(4, WRITER_STATUSES - 1, IBV_WC_SEND, 17),
		make_wc(5, WRITER_STATUSES, IBV_WC_SEND, 17),
		make_wc(6, 999, IBV_WC_SEND, 17),
		make_wc(7, IBV_WC_SUCCESS, IBV_WC_SEND, 17),
	};
	struct writer_alarms alarms;

	make_poll(&maker, &world.cq, 1, wcs, 7);
	make_drain(&maker);
	alarms = writer_alarms(writer);
	assert_int_equal(alarms.statuses[IBV_WC_SUCCESS], 0);
	assert_int_equal(alarms.statuses[IBV_WC_LOC_LEN_ERR], 1);
	assert_int_equal(alarms.statuses[IBV_WC_WR_FLUSH_ERR], 2);
	assert_int_equal(alarms.statuses[WRITER_STATUSES - 1], 3);
	assert_int_equal(alarms.errors, 4);
	assert_string_equal(last_error, "999");
}

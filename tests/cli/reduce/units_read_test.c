/*
 * Events of a trace that form one unit, and the needs of each
 */
#include "cli/reduce/units.h"
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct writer *writer;
static struct maker maker;
static struct make_world world;
static struct trace *trace;
static struct units units;

static int begin_trace(void **state)
{
	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("units.db"));
	writer = make_writer(path);
	make_thread(&maker, writer, 0, 100, 101);
	return 0;
}

static void make_process_and_world(void)
{
	make_process(&maker, 1, 0, 0, 0);
	make_world(&maker, &world, 17);
}

static void read_units(void)
{
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(units_read(trace, &units), 0);
}

static int end_trace(void **state)
{
	(void)state;
	units_fini(&units);
	trace_close(trace);
	return unlink(path);
}

FIXTURE(begin_trace, end_trace);

static const struct unit_row *find_row(uint32_t n, uint32_t i)
{
	const struct unit_row *row = units_find(&units, (struct event_id){ 1, n }, i);

	assert_non_null(row);
	assert_true(row->unit < units.count);
	return row;
}

static uint32_t unit_of(uint32_t n)
{
	return find_row(n, 0)->unit;
}

static enum unit_kind kind_of(uint32_t n)
{
	return units.units[unit_of(n)].kind;
}

static uint32_t post_one(enum verb verb, struct ibv_qp *qp, uint64_t wr_id)
{
	return make_post(&maker, verb, qp, wr_id, IBV_WR_SEND, IBV_SEND_SIGNALED);
}

static uint32_t complete_one(uint64_t wr_id, int status, int opcode, uint32_t number)
{
	struct event_wc wc = make_wc(wr_id, status, opcode, number);

	return make_poll(&maker, &world.cq, 0, &wc, 1);
}

static bool needs_object(const struct unit_need *list, size_t n, uint32_t who, uint32_t object)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].who == who && list[i].object == object)
			return true;
	return false;
}

TEST(a_completion_that_comes_first_is_a_unit)
{
	uint32_t n = complete_one(1, IBV_WC_SUCCESS, IBV_WC_SEND, 17);

	read_units();
	assert_int_equal(units.count, 1);
	assert_int_equal(units.nrows, 1);
	assert_int_equal(unit_of(n), 0);
	assert_int_equal(kind_of(n), UNIT_MESSAGE);
}

TEST(a_request_and_its_completion_are_one_unit)
{
	uint32_t sent[2], done[2];

	make_process_and_world();
	for (uint64_t i = 0; i < 2; i++)
		sent[i] = post_one(VERB_post_send, &world.qp, i);
	for (uint64_t i = 0; i < 2; i++)
		done[i] = complete_one(i, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	read_units();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unit_of(sent[i]), unit_of(done[i]));
		assert_int_equal(kind_of(sent[i]), UNIT_MESSAGE);
	}
	assert_int_not_equal(unit_of(sent[0]), unit_of(sent[1]));
}

TEST(rows_name_their_queues)
{
	uint32_t sent, done, empty;

	make_process_and_world();
	sent = post_one(VERB_post_send, &world.qp, 1);
	done = complete_one(1, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	empty = make_poll(&maker, &world.cq, 3, NULL, 0);
	read_units();
	assert_int_not_equal(find_row(sent, 0)->object, 0);
	assert_int_equal(find_row(sent, 0)->cq, 0);
	assert_int_equal(find_row(done, 0)->object, find_row(sent, 0)->object);
	assert_int_not_equal(find_row(done, 0)->cq, 0);
	assert_int_equal(find_row(empty, UINT32_MAX)->object, 0);
	assert_int_equal(find_row(empty, UINT32_MAX)->cq, find_row(done, 0)->cq);
	assert_int_equal(units.units[find_row(empty, UINT32_MAX)->unit].kind, UNIT_REST);
}

/* Two queue pairs of one process, each the peer of the other. */
static void connect_pair(struct ibv_qp *other, uint32_t number)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .dest_qp_num = number };
	int mask = IBV_QP_STATE | IBV_QP_DEST_QPN;

	*other = world.qp;
	other->qp_num = number;
	make_verb(&maker, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&world.init)),
		  (int64_t)MAKE_PTR(other), 0);
	make_verb(&maker, VERB_modify_qp, MAKE_ARGS(MAKE_PTR(&world.qp), MAKE_PTR(&attr), mask), 0,
		  0);
	attr.dest_qp_num = 17;
	make_verb(&maker, VERB_modify_qp, MAKE_ARGS(MAKE_PTR(other), MAKE_PTR(&attr), mask), 0, 0);
}

TEST(a_send_and_the_receive_that_it_fills_are_one_unit)
{
	uint32_t received[2], sent[2], done[2];
	struct ibv_qp other;

	make_process_and_world();
	connect_pair(&other, 18);
	for (uint64_t i = 0; i < 2; i++)
		received[i] = post_one(VERB_post_recv, &other, 10 + i);
	for (uint64_t i = 0; i < 2; i++)
		sent[i] = post_one(VERB_post_send, &world.qp, i);
	for (uint64_t i = 0; i < 2; i++)
		done[i] = complete_one(10 + i, IBV_WC_SUCCESS, IBV_WC_RECV, 18);
	read_units();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unit_of(received[i]), unit_of(sent[i]));
		assert_int_equal(unit_of(received[i]), unit_of(done[i]));
	}
	assert_int_not_equal(unit_of(sent[0]), unit_of(sent[1]));
}

TEST(what_no_message_filled_joins_none)
{
	uint32_t received, sent, done, write;
	struct ibv_qp other;

	make_process_and_world();
	connect_pair(&other, 18);
	received = post_one(VERB_post_recv, &other, 10);
	write = make_post(&maker, VERB_post_send, &world.qp, 1, IBV_WR_RDMA_WRITE, 0);
	sent = post_one(VERB_post_send, &world.qp, 2);
	done = complete_one(10, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 18);
	read_units();
	assert_int_equal(unit_of(received), unit_of(done));
	assert_int_not_equal(unit_of(received), unit_of(write));
	assert_int_not_equal(unit_of(received), unit_of(sent));
}

TEST(a_write_fills_no_receive)
{
	uint32_t received, sent, write;
	struct ibv_qp other;

	make_process_and_world();
	connect_pair(&other, 18);
	received = post_one(VERB_post_recv, &other, 10);
	write = make_post(&maker, VERB_post_send, &world.qp, 1, IBV_WR_RDMA_WRITE, 0);
	sent = post_one(VERB_post_send, &world.qp, 2);
	complete_one(10, IBV_WC_SUCCESS, IBV_WC_RECV, 18);
	read_units();
	assert_int_equal(unit_of(received), unit_of(sent));
	assert_int_not_equal(unit_of(received), unit_of(write));
}

static uint32_t get_cq_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq = &world.cq;
	void *context = NULL;

	return make_verb(&maker, VERB_get_cq_event,
			 MAKE_ARGS(MAKE_PTR(channel), MAKE_PTR(&cq), MAKE_PTR(&context)), 0, 0);
}

TEST(a_wake_up_belongs_to_the_message_that_it_reported)
{
	struct ibv_comp_channel channel = { .context = &world.context };
	uint32_t armed, woken, sent[2], done[2];

	make_process_and_world();
	make_verb(&maker, VERB_create_comp_channel, MAKE_ARGS(MAKE_PTR(&world.context)),
		  (int64_t)MAKE_PTR(&channel), 0);
	armed = make_notify(&maker, &world.cq);
	for (uint64_t i = 0; i < 2; i++)
		sent[i] = post_one(VERB_post_send, &world.qp, i);
	woken = get_cq_event(&channel);
	for (uint64_t i = 0; i < 2; i++)
		done[i] = complete_one(i, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	read_units();
	assert_int_equal(unit_of(armed), unit_of(woken));
	assert_int_equal(unit_of(armed), unit_of(sent[0]));
	assert_int_equal(unit_of(done[0]), unit_of(sent[0]));
	assert_int_not_equal(unit_of(done[1]), unit_of(done[0]));
	assert_int_equal(kind_of(armed), UNIT_MESSAGE);
}

/* The completion was polled before the event was read, and no other one came until the next. */
TEST(a_late_wake_up_is_of_the_message_before_it)
{
	struct ibv_comp_channel channel = { .context = &world.context };
	uint32_t armed, sent[2], woken[2];

	make_process_and_world();
	make_verb(&maker, VERB_create_comp_channel, MAKE_ARGS(MAKE_PTR(&world.context)),
		  (int64_t)MAKE_PTR(&channel), 0);
	for (uint64_t i = 0; i < 2; i++)
		sent[i] = post_one(VERB_post_send, &world.qp, i);
	armed = make_notify(&maker, &world.cq);
	complete_one(0, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	woken[0] = get_cq_event(&channel);
	make_notify(&maker, &world.cq);
	woken[1] = get_cq_event(&channel);
	complete_one(1, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	read_units();
	assert_int_equal(unit_of(armed), unit_of(woken[0]));
	assert_int_equal(unit_of(woken[0]), unit_of(sent[0]));
	assert_int_equal(unit_of(woken[1]), unit_of(sent[1]));
	assert_int_not_equal(unit_of(sent[0]), unit_of(sent[1]));
}

/* The trace ends before its completion is polled; without the receive it would not be sent. */
TEST(a_send_that_is_not_received_needs_the_next_receive)
{
	uint32_t received[3], sent[2];
	struct ibv_qp other;

	make_process_and_world();
	connect_pair(&other, 18);
	for (uint64_t i = 0; i < 3; i++)
		received[i] = post_one(VERB_post_recv, &other, 10 + i);
	for (uint64_t i = 0; i < 2; i++)
		sent[i] = post_one(VERB_post_send, &world.qp, i);
	complete_one(10, IBV_WC_SUCCESS, IBV_WC_RECV, 18);
	read_units();
	assert_int_equal(unit_of(received[1]), unit_of(sent[1]));
	assert_int_not_equal(unit_of(received[2]), unit_of(sent[1]));
	assert_true(units.units[unit_of(sent[0])].last > units.units[unit_of(sent[1])].last);
}

static uint32_t find_object(const char *name)
{
	const struct object *object;

	for (uint32_t id = 1; (object = trace_object(trace, id)); id++)
		if (trace_object_is(trace, object, name))
			return id;
	fail_msg("no object %s", name);
	return 0;
}

TEST(calls_that_only_ask_or_fail_are_idle)
{
	uint32_t asked, failed, outer, inner;

	make_process_and_world();
	asked = make_verb(&maker, VERB_query_device, MAKE_ARGS(MAKE_PTR(&world.context), 0), 0, 0);
	failed = make_verb(&maker, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&world.pd)), EBUSY, EBUSY);
	outer = make_call(&maker, VERB_dealloc_pd, 0, 0, MAKE_ARGS(MAKE_PTR(&world.pd)));
	inner = make_call(&maker, VERB_dereg_mr, 1, 0, MAKE_ARGS(MAKE_PTR(&world.mr)));
	make_return(&maker, inner, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&world.mr)), 0, 0);
	make_return(&maker, outer, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&world.pd)), EBUSY, EBUSY);
	read_units();
	assert_true(units.units[unit_of(asked)].idle);
	assert_true(units.units[unit_of(failed)].idle);
	assert_false(units.units[unit_of(outer)].idle);
	assert_false(units_creates_object(&units, unit_of(asked)));
	assert_true(units_creates_object(&units, unit_of(world.mr_n)));
	assert_int_equal(units_find_creator(&units, find_object("mr1")), unit_of(world.mr_n));
}

TEST(a_call_is_one_unit_with_those_inside_it)
{
	uint32_t outer, inner, next;

	make_process_and_world();
	outer = make_call(&maker, VERB_dealloc_pd, 0, 0, MAKE_ARGS(MAKE_PTR(&world.pd)));
	inner = make_call(&maker, VERB_dereg_mr, 1, 0, MAKE_ARGS(MAKE_PTR(&world.mr)));
	make_return(&maker, inner, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&world.mr)), 0, 0);
	make_return(&maker, outer, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&world.pd)), EBUSY, EBUSY);
	next = make_verb(&maker, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&world.pd)), EBUSY, EBUSY);
	read_units();
	assert_int_equal(unit_of(outer), unit_of(inner));
	assert_int_not_equal(unit_of(next), unit_of(outer));
	assert_int_equal(kind_of(outer), UNIT_CALL);
	assert_false(units.units[unit_of(outer)].ours);
}

TEST(calls_and_objects_need_what_they_name)
{
	uint32_t qp, pd, cq, mr;

	make_process_and_world();
	read_units();
	qp = find_object("qp1");
	pd = find_object("pd1");
	cq = find_object("cq1");
	mr = find_object("mr1");
	assert_true(needs_object(units.calls, units.ncalls, unit_of(world.qp_n), pd));
	assert_true(needs_object(units.calls, units.ncalls, unit_of(world.qp_n), cq));
	assert_true(needs_object(units.calls, units.ncalls, unit_of(world.qp_n), qp));
	assert_false(needs_object(units.calls, units.ncalls, unit_of(world.qp_n), mr));
	assert_true(needs_object(units.objects, units.nobjects, qp, cq));
	assert_true(needs_object(units.objects, units.nobjects, mr, pd));
	assert_false(needs_object(units.objects, units.nobjects, qp, qp));
	assert_false(needs_object(units.objects, units.nobjects, cq, qp));
	assert_true(needs_object(units.made, units.nmade, unit_of(world.mr_n), mr));
	assert_int_equal(units.most, trace_object(trace, units.most)->id);
	assert_null(trace_object(trace, units.most + 1));
}

/*
 * What is left of a trace that was cut: forget_rows_test.txt
 *
 * The past is forgotten but for live objects, outstanding requests, and what these depend on.
 */
#include "core/store/write/writer.h"

#include "tests/core/store/everything.h"
#include "tests/core/store/events_text.h"
#include "tests/core/store/tables.h"

static struct text text;

static void cut_at(uint64_t us)
{
	example_at(us);
	assert_int_equal(writer_cut(example.writer, (int64_t)us * 1000), 0);
	assert_int_equal(writer_forget(example.writer, 0), 0);
}

/* All tables and events of the rest. */
static void add_rest(const char *name)
{
	example_open(&example);
	text_addf(&text, "=== %s\n", name);
	tables_add_all(&text, example.trace);
	events_add_all(&text, example.trace, NULL, "events");
	example_end(&example);
}

static void begin_cutting(void)
{
	example_cuts = true;
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_cuts = false;
}

/* Two of five requests are done, and one of two receives. */
static void cut_while_requests_are_outstanding(void)
{
	static const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 10, 20 } },
		{ 2, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, .imm = 7, .lengths = { 30 } },
		{ 3, IBV_WR_RDMA_WRITE, .lengths = { 40 }, .rdma = { 5, 6 }, .parts = WR_RDMA },
		{ 4, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SIGNALED, .lengths = { 8 },
		  .rdma = { 7, 8 }, .atomic = { 9, 10 }, .parts = WR_RDMA | WR_ATOMIC },
		{ 5, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 50 } },
	};
	struct example_end *two = &example.ends[1];

	begin_cutting();
	example_at(100);
	example_receive(two, 10, 64);
	example_receive(two, 11, 65);
	example_at(110);
	example_post_list(one, VERB_post_send, &one->qp, wrs, 5, 0);
	make_notify(&one->m, &one->cq);
	example_at(120);
	make_poll(&one->m, &one->cq, 3,
		  (const struct event_wc[]){ example_wc(one, 1, 0, IBV_WC_SEND, 0),
					     example_wc(one, 2, 0, IBV_WC_SEND, 0) },
		  2);
	example_at(130);
	example_poll(two, 10, 0, IBV_WC_RECV, 30);
	example_mark(one, MARK_BEGIN, "phase");
	cut_at(200);
	example_at(210);
	make_poll(&one->m, &one->cq, 9,
		  (const struct event_wc[]){ example_wc(one, 4, 0, IBV_WC_FETCH_ADD, 8),
					     example_wc(one, 5, 0, IBV_WC_SEND, 0) },
		  2);
	example_at(220);
	example_poll(two, 11, 0, IBV_WC_RECV, 50);
	example_mark(one, MARK_END, "phase");
	one->m.in.head->dropped = 3;
	one->m.in.head->drop_first = 500;
	one->m.in.head->drop_last = 210500;
	add_rest("requests are outstanding");
}

/* A region and a queue pair are gone, others were made; then it is cut again. */
static void cut_twice(void)
{
	struct ibv_mr mr = { .context = &one->context,
			     .pd = &one->pd,
			     .lkey = 0x77,
			     .rkey = 0x78,
			     .addr = (void *)0x50000,
			     .length = 4096 };
	struct example_end *two = &example.ends[1];
	struct ibv_qp_attr attr;

	begin_cutting();
	attr = example_attr(&example, 1, true, false);
	attr.qp_state = IBV_QPS_SQD;
	example_modify(two, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	example_modify(two, &attr, IBV_QP_STATE);
	two->m.in.head->dropped = 4;
	two->m.in.head->drop_first = 2000;
	two->m.in.head->drop_last = 3000;
	example_at(100);
	make_verb(&one->m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&one->mr)), 0, 0);
	make_verb(&one->m, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&one->pd), 0x50000, 4096, 1),
		  (int64_t)MAKE_PTR(&mr), 0);
	cut_at(200);
	example_at(210);
	make_verb(&one->m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&one->qp)), 0, 0);
	make_call(&one->m, VERB_dealloc_pd, 0, 0, MAKE_ARGS(MAKE_PTR(&one->pd)));
	cut_at(300);
	example_at(310);
	make_verb(&one->m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&mr)), 0, 0);
	add_rest("cut twice");
}

/*
 * A failed completion may be of a send or of a receive with the same wr_id: which of the two is
 * still outstanding then?
 */
static void cut_after_error(int status, bool send_first, bool other_before)
{
	struct example_wr send = { 40, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 10 } };

	begin_cutting();
	example_at(100);
	if (other_before) {
		example_post(one, (struct example_wr){ 39, IBV_WR_SEND, .lengths = { 9 } });
		example_receive(one, 38, 8);
	}
	if (send_first)
		example_post(one, send);
	example_receive(one, 40, 64);
	if (!send_first)
		example_post(one, send);
	example_at(110);
	example_poll(one, 40, status, 0, 0);
	cut_at(200);
	example_at(210);
	example_mark(one, MARK_POINT, "the rest");
	example_open(&example);
	text_addf(&text, "=== status %d, %s first%s\n", status, send_first ? "send" : "receive",
		  other_before ? ", after others" : "");
	tables_add_data(&text, example.trace);
	example_end(&example);
}

static void cut_after_errors(void)
{
	static const int statuses[] = { IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR,
					IBV_WC_WR_FLUSH_ERR, IBV_WC_REM_ACCESS_ERR,
					IBV_WC_LOC_ACCESS_ERR };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		for (int how = 0; how < 4; how++)
			cut_after_error(statuses[i], how & 1, how & 2);
}

static void cut_after_everything(void)
{
	begin_cutting();
	write_everything();
	cut_at(10);
	example_at(20);
	example_mark(one, MARK_POINT, "the rest");
	add_rest("after each kind of event");
}

TEST(the_rest_has_what_it_needs)
{
	cut_while_requests_are_outstanding();
	cut_twice();
	cut_after_errors();
	cut_after_everything();
	transcript_expect(__FILE__, &text);
}

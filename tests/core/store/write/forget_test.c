#include <unistd.h>

#include "core/store/db/sql.h"
#include "core/store/write/writer_priv.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static struct writer *writer;
static struct make_world world;
static struct maker maker;
static char path[256];

static int begin_cutting(void **state)
{
	struct writer_info info = {
		.clock = &make_clock, .command = "app", .device = "soft", .cuts = true
	};

	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("forget.db"));
	unlink(path);
	return writer_create(path, &info, &writer);
}

static int unlink_trace(void **state)
{
	(void)state;
	return unlink(path);
}

static int64_t count_rows(sqlite3 *db, const char *table)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	return sql_int(db, sql, -1);
}

static void begin_world(void)
{
	make_thread(&maker, writer, 0, 100, 101);
	make_process(&maker, 1, 0, 0, 0);
	make_world(&maker, &world, 17);
}

/* All events until now are forgotten, except those that are still needed. */
static void cut_and_forget(void)
{
	assert_int_equal(writer_cut(writer, clock_ns(&make_clock, make_now)), 0);
	make_now++;
	assert_int_equal(writer_forget(writer, 0), 0);
}

static void churn_regions(int n)
{
	struct ibv_mr mr = { .context = &world.context, .pd = &world.pd, .lkey = 7, .rkey = 7 };

	for (int i = 0; i < n; i++) {
		make_verb(&maker, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&world.pd), 0x7000, 64, 1),
			  (int64_t)MAKE_PTR(&mr), 0);
		make_verb(&maker, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&mr)), 0, 0);
	}
}

/* The trace, finished. */
static sqlite3 *finish_trace(void)
{
	sqlite3 *db;

	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(sql_open(path, SQLITE_OPEN_READONLY, &db), 0);
	return db;
}

FIXTURE(begin_cutting, unlink_trace);

TEST(calls_go_but_for_those_of_what_is_alive)
{
	int64_t calls;
	sqlite3 *db;

	begin_world();
	calls = count_rows(writer->db, "call");
	for (int i = 0; i < 10; i++) {
		churn_regions(100);
		cut_and_forget();
		cut_and_forget();
		assert_int_equal(count_rows(writer->db, "call"), calls);
	}
	db = finish_trace();
	assert_int_equal(sql_int(db, "SELECT overwritten FROM loss", 0), 10 * 100 * 4);
	assert_int_equal(count_rows(db, "object"), 6);
	assert_int_equal(sql_int(db,
				 "SELECT count(*) FROM ref r LEFT JOIN call c"
				 " USING (thread, n) WHERE c.n IS NULL",
				 -1),
			 0);
	sqlite3_close(db);
}

TEST(names_count_what_is_gone)
{
	sqlite3 *db;

	begin_world();
	churn_regions(50);
	cut_and_forget();
	churn_regions(1);
	db = finish_trace();
	assert_int_equal(sql_int(db, "SELECT max(ordinal) FROM object WHERE kind = 'mr'", 0), 52);
	assert_int_equal(sql_int(db,
				 "SELECT ordinal FROM object WHERE kind = 'mr' AND"
				 " destroyed_n IS NULL",
				 0),
			 1);
	sqlite3_close(db);
}

TEST(a_call_that_returns_behind_the_cut_stays)
{
	const uint64_t *args = MAKE_ARGS(MAKE_PTR(&world.context), 1, 0);
	uint32_t call;
	sqlite3 *db;

	begin_world();
	call = make_call(&maker, VERB_get_async_event, 0, 0,
			 MAKE_ARGS(MAKE_PTR(&world.context), 0));
	cut_and_forget();
	(void)args;
	make_return(&maker, call, VERB_get_async_event, MAKE_ARGS(MAKE_PTR(&world.context), 0), -1,
		    4);
	db = finish_trace();
	assert_int_equal(sql_int(db,
				 "SELECT count(*) FROM call WHERE verb ="
				 " 'ibv_get_async_event' AND end NOT NULL",
				 0),
			 1);
	sqlite3_close(db);
}

TEST(threads_that_have_ended_go)
{
	struct maker other;
	int64_t first = 0, last = 0;
	sqlite3 *db;

	begin_world();
	for (uint32_t i = 1; i <= 20; i++) {
		make_thread(&other, writer, i, 100, 200 + (int)i);
		first = first ?: (int64_t)make_now;
		make_verb(&other, VERB_query_qp, MAKE_ARGS(MAKE_PTR(&world.qp), 0, 0, 0), 22, 0);
		last = (int64_t)make_now - 1;
		make_end(&other);
		cut_and_forget();
	}
	assert_int_equal(count_rows(writer->db, "thread"), 1);
	db = finish_trace();
	assert_int_equal(sql_int(db, "SELECT overwritten FROM loss WHERE thread = 0", 0), 40);
	assert_int_equal(sql_int(db, "SELECT events FROM loss WHERE thread = 0", 0), 40);
	assert_int_equal(sql_int(db, "SELECT first FROM loss WHERE thread = 0", 0), first);
	assert_int_equal(sql_int(db, "SELECT last FROM loss WHERE thread = 0", 0), last);
	assert_int_equal(sql_int(db, "SELECT value FROM meta WHERE key = 'gone_thread'", 0), 20);
	sqlite3_close(db);
}

TEST(processes_that_have_ended_go_with_what_they_had)
{
	struct make_world own;
	struct maker other;
	sqlite3 *db;

	begin_world();
	for (int i = 1; i <= 20; i++) {
		make_thread(&other, writer, (uint32_t)i, 100 + i, 100 + i);
		make_process(&other, 100, 0, 0, 0);
		make_world(&other, &own, 18);
		make_end(&other);
		writer_end_process(writer, 100 + i, (int64_t)make_now++, 0);
		cut_and_forget();
		cut_and_forget();
	}
	assert_int_equal(count_rows(writer->db, "process"), 1);
	assert_int_equal(count_rows(writer->db, "thread"), 1);
	assert_in_range(count_rows(writer->db, "stack"), 1, 8);
	db = finish_trace();
	assert_int_equal(count_rows(db, "object"), 6);
	sqlite3_close(db);
}

/* A child of the trace needs it; one that never called a verb has no row. */
TEST(forks_go_but_for_those_of_children_that_are_there)
{
	struct maker child;

	begin_world();
	for (uint32_t seq = 1; seq <= 3; seq++)
		make_fork(&maker, seq);
	make_thread(&child, writer, 1, 200, 200);
	make_process(&child, 100, 100, 2, make_now);
	cut_and_forget();
	assert_int_equal(count_rows(writer_db(writer), "fork"), 1);
	assert_int_equal(sql_int(writer_db(writer), "SELECT fork_seq FROM fork", -1), 2);
	make_end(&child);
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
}

TEST(an_object_file_goes_when_another_is_mapped_there)
{
	begin_world();
	make_module(&maker, 0x500000, 0x500000, 0x501000, "/lib/first.so");
	for (int i = 0; i < 20; i++) {
		make_module(&maker, 0x700000, 0x700000, 0x701000, "/lib/again.so");
		cut_and_forget();
	}
	assert_int_equal(count_rows(writer->db, "module"), 2);
	sqlite3_close(finish_trace());
}

TEST(marks_go)
{
	begin_world();
	for (int i = 0; i < 10; i++) {
		size_t bytes = make_round(sizeof(struct event_mark) + 4);
		struct event_mark *mark = make_room(&maker, EVENT_MARK, 0, bytes);

		mark->bytes = 4;
		make_done(&maker, mark, bytes);
	}
	cut_and_forget();
	assert_int_equal(count_rows(writer->db, "mark"), 0);
	sqlite3_close(finish_trace());
}

static int64_t count_gone(void)
{
	return sql_int(writer->db, "SELECT coalesce(sum(events), 0) FROM loss", -1);
}

/* A verb is two events; anything else is one. */
TEST(what_goes_is_counted)
{
	int64_t before;

	begin_world();
	cut_and_forget();
	before = count_gone();
	for (int i = 0; i < 3; i++) {
		struct event_memory *memory = make_room(&maker, EVENT_MEMORY, 0, sizeof(*memory));

		memory->addr = 0x7fff0000;
		memory->length = 64;
		make_done(&maker, memory, sizeof(*memory));
	}
	for (int i = 0; i < 2; i++) {
		struct event_misuse *misuse = make_room(&maker, EVENT_MISUSE, 0, sizeof(*misuse));

		misuse->object = MAKE_PTR(&world.cq);
		make_done(&maker, misuse, sizeof(*misuse));
	}
	churn_regions(2);
	cut_and_forget();
	assert_int_equal(count_rows(writer->db, "memory"), 0);
	assert_int_equal(count_rows(writer->db, "misuse"), 0);
	assert_int_equal(count_gone() - before, 3 + 2 + 2 * 2 * 2);
	sqlite3_close(finish_trace());
}

static void connect_qp(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .dest_qp_num = dest };

	make_verb(&maker, VERB_modify_qp,
		  MAKE_ARGS(MAKE_PTR(qp), MAKE_PTR(&attr), IBV_QP_STATE | IBV_QP_DEST_QPN), 0, 0);
}

/* The send of a message that was not received stays, and so must the queue pair that sent it. */
TEST(a_queue_pair_that_is_gone_stays_with_its_message)
{
	struct event_wc sent = make_wc(1, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	struct event_wc received = make_wc(2, IBV_WC_SUCCESS, IBV_WC_RECV, 18);
	struct ibv_qp other;

	begin_world();
	other = world.qp;
	other.qp_num = 18;
	make_verb(&maker, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&world.init)),
		  (int64_t)MAKE_PTR(&other), 0);
	connect_qp(&world.qp, 18);
	connect_qp(&other, 17);
	make_post(&maker, VERB_post_recv, &other, 2, 0, 0);
	make_post(&maker, VERB_post_send, &world.qp, 1, IBV_WR_SEND, IBV_SEND_SIGNALED);
	make_poll(&maker, &world.cq, 0, &sent, 1);
	make_verb(&maker, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&world.qp)), 0, 0);
	for (int i = 0; i < 3; i++)
		cut_and_forget();
	assert_int_equal(count_rows(writer->db, "call WHERE verb = 'ibv_create_qp'"), 2);
	make_poll(&maker, &world.cq, 0, &received, 1);
	for (int i = 0; i < 3; i++)
		cut_and_forget();
	assert_int_equal(count_rows(writer->db, "call WHERE verb = 'ibv_create_qp'"), 1);
	sqlite3_close(finish_trace());
}

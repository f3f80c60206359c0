#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "core/store/open.h"
#include "core/store/unpack.h"
#include "tests/core/store/random_events.h"
#include "tests/test.h"

enum { THREADS = 3 };

static char path[256], unpacked[256];

/* A trace of @events random events; their fingerprints go to @prints. */
static void record_random(int events, struct prints *prints)
{
	struct writer *w;
	struct maker makers[THREADS];
	uint64_t empty[THREADS] = { 0 };

	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("round.db"));
	snprintf(unpacked, sizeof(unpacked), "%s", make_path("plain.db"));
	unlink(path);
	unlink(unpacked);
	w = make_writer(path);
	for (uint32_t i = 0; i < THREADS; i++)
		make_thread(&makers[i], w, i, 100, 100 + (int)i);
	for (int i = 0; i < events; i++) {
		uint32_t t = (uint32_t)(random_next() % THREADS);

		random_event(&makers[t], prints, &empty[t]);
		if (random_next() % 5000 == 0)
			assert_int_equal(writer_flush(w), 0);
	}
	for (int i = 0; i < THREADS; i++)
		make_end(&makers[i]);
	assert_int_equal(writer_progress(w).lost, 0);
	assert_int_equal(writer_finish(w), 0);
}

/* The events that a cursor returns. */
static void read_prints(const char *from, const struct trace_filter *filter, bool matches,
			struct prints *prints)
{
	const struct trace_event *e;
	struct cursor *cursor;
	struct trace *trace;
	int more;

	assert_int_equal(trace_open(from, &trace), 0);
	assert_int_equal(cursor_open(trace, filter, &cursor), 0);
	while ((more = cursor_next(cursor, &e)) > 0)
		prints_add(prints, e->id, e->time, print_event(e, matches));
	assert_int_equal(more, 0);
	cursor_close(cursor);
	trace_close(trace);
}

static void assert_same(const struct prints *a, const struct prints *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_int_equal(a->list[i].time, b->list[i].time);
		assert_int_equal(a->list[i].id.thread, b->list[i].id.thread);
		assert_int_equal(a->list[i].id.n, b->list[i].id.n);
		assert_int_equal(a->list[i].hash, b->list[i].hash);
	}
}

/* Ticks are unique, so the order of creation is the order of time. */
TEST(any_events_come_out_the_same)
{
	struct prints made = { 0 }, read = { 0 };

	random_choose();
	record_random(30000, &made);
	read_prints(path, NULL, false, &read);
	assert_same(&made, &read);
	free(made.list);
	free(read.list);
	unlink(path);
}

TEST(unpacked_reads_the_same)
{
	struct prints made = { 0 }, packed = { 0 }, plain = { 0 };

	random_choose();
	record_random(10000, &made);
	assert_int_equal(trace_unpack(path, unpacked), 0);
	read_prints(path, NULL, true, &packed);
	read_prints(unpacked, NULL, true, &plain);
	assert_same(&packed, &plain);
	free(made.list);
	free(packed.list);
	free(plain.list);
	unlink(path);
	unlink(unpacked);
}

static int64_t query_number(const char *db_path, const char *sql)
{
	struct trace *trace;
	sqlite3_stmt *stmt;
	int64_t value;

	assert_int_equal(trace_open(db_path, &trace), 0);
	assert_int_equal(sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	trace_close(trace);
	return value;
}

/* Every virtual table against its plain copy, by sums over all rows and columns. */
TEST(tables_agree_with_their_plain_copies)
{
	static const char *const sums[] = {
		"SELECT count(*) FROM wr",
		"SELECT count(*) FROM sge",
		"SELECT count(*) FROM wc",
		"SELECT count(*) FROM poll",
		"SELECT count(*) FROM post",
		"SELECT count(*) FROM notify",
		"SELECT sum(n % 1000 * i + bytes % 1000 + wr_id % 1000) FROM wr",
		"SELECT sum(remote_addr % 1000 + rkey % 7) FROM wr WHERE remote_addr IS NOT NULL",
		"SELECT sum(opcode) FROM wr",
		"SELECT count(opcode_name) FROM wr",
		"SELECT sum(bad) FROM wr",
		"SELECT sum(num_sge) FROM wr",
		"SELECT sum(tso_mss) FROM wr",
		"SELECT sum(bind_access) FROM wr",
		"SELECT sum(send_flags % 1000) FROM wr",
		"SELECT sum(i * 7 + j * 3 + addr % 1000 + lkey % 1000) FROM sge",
		"SELECT sum(status * 3 + opcode + imm % 1000 + slid) FROM wc",
		"SELECT sum(timestamp % 1000 + wallclock % 1000) FROM wc",
		"SELECT sum(cvlan) FROM wc WHERE flow_tag IS NULL",
		"SELECT sum(flow_tag % 1000 + tm_tag % 1000 + tm_priv % 1000) FROM wc",
		"SELECT sum(flow_tag % 1000 * (posted IS NULL)) FROM wc",
		"SELECT count(cvlan) FROM wc",
		"SELECT count(*) FROM poll WHERE verb = 'ibv_next_poll'",
		"SELECT count(*) FROM wc WHERE status = 5",
		"SELECT count(*) FROM wc WHERE status_name = 'IBV_WC_WR_FLUSH_ERR'",
		"SELECT count(*) FROM wc WHERE thread = 2 AND n > 500 AND n <= 900",
		"SELECT count(*) FROM wr WHERE time BETWEEN 5000 AND 9000",
		"SELECT count(*) FROM sge WHERE thread = 1 AND n = 77",
		"SELECT count(*) FROM wr WHERE thread IS NULL",
		"SELECT sum(n * 3 + i) FROM wr WHERE n < 100 OR n > 900",
		"SELECT sum(n) FROM post WHERE (thread = 1 AND n < 77) OR (thread = 2 AND n > 80)",
		"SELECT sum(n + i * 3 + j) FROM sge WHERE time < 7000 OR (thread = 1 AND n > 500)",
		"SELECT sum(n + wr_n) FROM wc WHERE n > 900 OR status = 5 OR time < 5000",
		"SELECT count(*) FROM wc WHERE status = '5'",
		"SELECT count(*) FROM wr WHERE n > 100.5 AND n < 200.5",
		"SELECT sum(empty) FROM poll",
		"SELECT sum(solicited_only + ret) FROM notify",
		"SELECT sum(nwr * 3 + ret + bad) FROM post",
		"SELECT sum(wr_n + wr_thread * 5 + wr_i + posted) FROM wc",
		("SELECT count(*) FROM wc JOIN wr ON (wr.thread, wr.n, wr.i) ="
		 " (wr_thread, wr_n, wr_i)"),
		"SELECT count(*) FROM sge JOIN wr USING(thread, n, i) WHERE wr.opcode = 2",
	};
	struct prints made = { 0 };

	random_choose();
	record_random(5000, &made);
	assert_int_equal(trace_unpack(path, unpacked), 0);
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		if (query_number(path, sums[i]) != query_number(unpacked, sums[i]))
			fail_msg("%s: %lld packed, %lld plain", sums[i],
				 (long long)query_number(path, sums[i]),
				 (long long)query_number(unpacked, sums[i]));
	assert_true(query_number(path, "SELECT count(*) FROM wc") > 1000);
	free(made.list);
	unlink(path);
	unlink(unpacked);
}

TEST(filter_gives_its_part)
{
	struct prints made = { 0 }, read = { 0 };
	struct trace_filter filter = { .thread = 2, .from = 3000, .to = 9000 };
	size_t wanted = 0;

	random_choose();
	record_random(5000, &made);
	read_prints(path, &filter, false, &read);
	for (size_t i = 0; i < made.count; i++)
		wanted += made.list[i].id.thread == 2 && made.list[i].time >= 3000 &&
			  made.list[i].time <= 9000;
	assert_int_equal(read.count, wanted);
	assert_true(wanted > 100);
	free(made.list);
	free(read.list);
	unlink(path);
}

TEST(control_only_leaves_the_rest)
{
	struct prints made = { 0 };
	struct trace_filter filter = { .control_only = true };
	const struct trace_event *e;
	struct cursor *cursor;
	struct trace *trace;
	int calls = 0;

	random_choose();
	record_random(2000, &made);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, &filter, &cursor), 0);
	while (cursor_next(cursor, &e) > 0) {
		assert_true(e->kind == TRACE_CALL || e->kind == TRACE_RETURN);
		calls++;
	}
	assert_true(calls > 50);
	cursor_close(cursor);
	trace_close(trace);
	free(made.list);
	unlink(path);
}

/* If a post failed with *bad_wr the second of three, the first was accepted. */
TEST(requests_not_taken_are_stored)
{
	struct {
		struct event_post post;
		struct event_wr wrs[3];
	} body = { { .verb = VERB_post_send, .nwr = 3, .ret = 12, .bad = 2 }, { { 0 } } };
	struct event_head head;
	struct writer *w;
	struct maker m;
	void *room;

	snprintf(path, sizeof(path), "%s", make_path("round.db"));
	unlink(path);
	w = make_writer(path);
	make_thread(&m, w, 0, 100, 100);
	room = make_room(&m, EVENT_POST, 0, sizeof(body));
	memcpy(&head, room, sizeof(head));
	body.post.head = head;
	memcpy(room, &body, sizeof(body));
	make_done(&m, room, sizeof(body));
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
	assert_int_equal(query_number(path, "SELECT sum(bad << i) FROM wr"), 6);
	unlink(path);
}

TEST(edited_copy_reads_as_edited)
{
	struct prints made = { 0 };
	sqlite3 *db;

	random_choose();
	record_random(1000, &made);
	assert_int_equal(trace_unpack(path, unpacked), 0);
	assert_int_equal(sqlite3_open(unpacked, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "UPDATE wc SET status = 13; DELETE FROM sge", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	{
		const struct trace_event *e;
		struct cursor *cursor;
		struct trace *trace;
		uint32_t seen = 0;

		assert_int_equal(trace_open(unpacked, &trace), 0);
		assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
		while (cursor_next(cursor, &e) > 0) {
			for (uint32_t i = 0; e->kind == TRACE_POLL && i < e->poll->nwc; i++, seen++)
				assert_int_equal(e->poll->wc[i].status, 13);
			for (uint32_t i = 0; e->kind == TRACE_POST && i < e->post->nwr; i++)
				assert_int_equal(e->post->wr[i].nsge, 0);
		}
		assert_true(seen > 100);
		cursor_close(cursor);
		trace_close(trace);
	}
	assert_int_equal(query_number(unpacked, "SELECT count(*) FROM wc WHERE status_name <> "
						"'IBV_WC_RNR_RETRY_EXC_ERR'"),
			 0);
	free(made.list);
	unlink(path);
	unlink(unpacked);
}

TEST(unpack_refuses_what_is_in_the_way)
{
	struct prints made = { 0 };
	FILE *f;

	random_choose();
	record_random(10, &made);
	f = fopen(unpacked, "w");
	fputs("precious", f);
	fclose(f);
	assert_int_equal(trace_unpack(path, unpacked), -EEXIST);
	assert_int_equal(trace_unpack(path, path), -EEXIST);
	assert_int_equal(trace_unpack("/no/such.db", unpacked), -ENOENT);
	f = fopen(unpacked, "r");
	assert_int_equal(fgetc(f), 'p');
	fclose(f);
	free(made.list);
	unlink(path);
	unlink(unpacked);
}

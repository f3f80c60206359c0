/*
 * Table `payload`, in queries joined with its requests
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "core/store/open.h"
#include "core/store/unpack.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { POSTS = 30000, BYTES = 64 };

static char path[256], unpacked[256];

static void make_payload(struct maker *m, const void *handle, uint32_t of, uint8_t byte)
{
	size_t bytes = sizeof(struct event_payload) + BYTES;
	struct event_payload *e = make_room(m, EVENT_PAYLOAD, 0, bytes);

	e->object = MAKE_PTR(handle);
	e->of = of;
	e->total = e->bytes = BYTES;
	e->flags = PAYLOAD_LAST;
	memset(e + 1, byte, BYTES);
	make_done(m, e, bytes);
}

static void make_carrying_post(struct maker *m, const void *handle, uint64_t wr_id)
{
	size_t bytes = sizeof(struct event_post) + sizeof(struct event_wr);
	struct event_post *e = make_room(m, EVENT_POST, EVENT_CARRIES, bytes);

	e->object = MAKE_PTR(handle);
	e->verb = VERB_post_send;
	e->nwr = 1;
	((struct event_wr *)(void *)(e + 1))->wr_id = wr_id;
	make_done(m, e, bytes);
}

/* Two threads; all posts but every tenth have a payload. */
static int make_trace(void **state)
{
	struct maker makers[2];
	struct writer *w;
	static struct ibv_qp qp;

	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("payload.db"));
	snprintf(unpacked, sizeof(unpacked), "%s", make_path("payload.plain.db"));
	unlink(path);
	unlink(unpacked);
	w = make_writer(path);
	make_thread(&makers[0], w, 0, 100, 100);
	make_thread(&makers[1], w, 1, 100, 101);
	for (uint32_t i = 0; i < POSTS; i++) {
		struct maker *m = &makers[i % 2];

		if (i % 10)
			make_payload(m, &qp, i, (uint8_t)i);
		make_carrying_post(m, &qp, i);
	}
	make_end(&makers[0]);
	make_end(&makers[1]);
	return writer_finish(w) ? -1 : trace_unpack(path, unpacked);
}

static int remove_trace(void **state)
{
	(void)state;
	unlink(path);
	unlink(unpacked);
	return 0;
}

static int64_t ask_sql(const char *file, const char *sql)
{
	struct trace *trace;
	sqlite3_stmt *stmt;
	int64_t value;

	assert_int_equal(trace_open(file, &trace), 0);
	assert_int_equal(sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	trace_close(trace);
	return value;
}

static void same_as_the_plain_copy(const char *const *sql)
{
	for (; *sql; sql++) {
		int64_t packed = ask_sql(path, *sql), plain = ask_sql(unpacked, *sql);

		if (packed != plain)
			fail_msg("%s: %lld packed, %lld plain", *sql, (long long)packed,
				 (long long)plain);
	}
}

GROUP(make_trace, remove_trace);

TEST(conditions_give_what_they_say)
{
	static const char *const sums[] = {
		"SELECT count(*) FROM payload",
		"SELECT sum(n * length + i + before + process) FROM payload",
		"SELECT sum(n) FROM payload WHERE n < 50 OR n > 20000 OR (thread = 2 AND n < 900)",
		"SELECT sum(n) FROM payload WHERE (thread = 1 AND n = 77) OR"
		" (thread = 2 AND n = 78)",
		"SELECT sum(n) FROM payload WHERE time BETWEEN 9000 AND 20000",
		"SELECT sum(n) FROM payload WHERE thread = 1 AND n = 78 AND time < 5000",
		"SELECT count(*) FROM payload WHERE n BETWEEN 900 AND 800 OR thread = 5000000000",
		"SELECT count(*) FROM payload WHERE n = NULL OR thread > 1.5",
		"SELECT count(DISTINCT hash) + count(why) + count(DISTINCT kind) FROM payload",
		"SELECT sum(length(bytes)) FROM payload WHERE thread = '2' AND n > 100.5",
		"SELECT sum(instr(bytes, x'07')) FROM payload",
		NULL,
	};

	assert_int_equal(ask_sql(path, sums[0]), POSTS / 10 * 9);
	same_as_the_plain_copy(sums);
}

/* A chunk is unpacked once and not for each row: these took half a minute each. */
TEST(what_is_asked_row_by_row_is_kept)
{
	static const char *const sums[] = {
		"SELECT sum(n) + count(captured) FROM wr LEFT JOIN payload USING(thread, n, i)",
		"SELECT count(*) FROM wr WHERE EXISTS (SELECT 1 FROM payload p"
		" WHERE p.thread = wr.thread AND p.n = wr.n AND p.i = wr.i)",
		"SELECT sum((SELECT wr_id FROM wr WHERE wr.thread = p.thread AND wr.n = p.n))"
		" FROM payload p",
		"SELECT sum((SELECT nwr + time FROM post WHERE post.thread = p.thread"
		"  AND post.n = p.n + 2)) FROM payload p",
		NULL,
	};

	same_as_the_plain_copy(sums);
}

/* Events are read from the last to the first: each chunk was walked from its beginning. */
TEST(the_way_back_is_known)
{
	static const char *const sums[] = {
		"SELECT count(*), sum(b.n) FROM post a CROSS JOIN wr b ON b.thread = a.thread"
		" AND b.n IN (27000 - a.n, 27001 - a.n)",
		NULL,
	};

	same_as_the_plain_copy(sums);
}

/*
 * The same events in a trace of rows and in one with blocks: each table, view and event is the
 * same
 */
#include "core/store/db/call_tables.h"

#include "core/store/excerpt/excerpt.h"
#include "core/store/open.h"
#include "core/store/read/trace_priv.h"
#include "core/store/unpack.h"
#include "core/store/vtab/views.h"
#include "tests/core/store/random_events.h"
#include "tests/core/store/tables.h"
#include "tests/test.h"

enum { THREADS = 3, EVENTS = 1200, WORDS = 40, SHAPES = 6, DEPTH = 3 };

static char path[256], copy[256];
static struct text rows, blocks;

static int remove_files(void **state)
{
	(void)state;
	text_fini(&rows);
	text_fini(&blocks);
	unlink(path);
	unlink(copy);
	return 0;
}

FIXTURE(NULL, remove_files);

/* Small numbers, so that counts, masks and null pointers are as often as not what they may be. */
static uint64_t draw_word(void)
{
	uint64_t n = random_next();

	return n % 3 ? n >> 8 & 3 : n % 5 ? n >> 16 & 0xffff : n;
}

static uint32_t begin_any(struct maker *m, enum verb verb, unsigned int depth)
{
	uint32_t n = 1 + (uint32_t)(random_next() % WORDS);
	size_t bytes = sizeof(struct event_call) + (1 + n) * 8;
	struct event_call *e = make_room(m, EVENT_CALL, random_next() % 9 ? 0 : EVENT_OURS, bytes);
	uint64_t *words = (void *)(e + 1);

	e->verb = (uint16_t)verb;
	e->depth = (uint8_t)depth;
	e->nframes = 1;
	e->nargs = n;
	*words++ = 0x401000 + random_next() % 2;
	for (uint32_t i = 0; i < n; i++)
		words[i] = draw_word();
	e->head.flags |= EVENT_CUT; /* arguments may be missing */
	return make_done(m, e, bytes);
}

static void end_any(struct maker *m, uint32_t call, enum verb verb)
{
	uint32_t n = (uint32_t)(random_next() % WORDS);
	size_t bytes = sizeof(struct event_return) + n * 8;
	struct event_return *e = make_room(m, EVENT_RETURN, EVENT_CUT, bytes);

	e->call_seq = call;
	e->verb = (uint16_t)verb;
	e->ret = (int64_t)(random_next() % 2 ? 0 : draw_word());
	e->error = (int)(random_next() % 3);
	e->nouts = n;
	for (uint32_t i = 0; i < n; i++)
		((uint64_t *)(void *)(e + 1))[i] = draw_word();
	make_done(m, e, bytes);
}

/* A verb, verbs inside it, and sometimes a commit meanwhile; one in a hundred never returns. */
static void make_any(struct maker *m, unsigned int depth)
{
	enum verb verb = (enum verb)(random_next() % VERB_COUNT);
	uint32_t call = begin_any(m, verb, depth);

	while (depth < DEPTH && random_next() % 4 == 0)
		make_any(m, depth + 1);
	if (random_next() % 200 == 0)
		assert_int_equal(writer_flush(m->writer), 0);
	if (random_next() % 100)
		end_any(m, call, verb);
}

/* Arguments as they are, again and again: shapes that repeat. */
static void make_usual(struct maker *m, struct make_world *w)
{
	static struct ibv_mr mr;

	mr = w->mr;
	mr.lkey = (uint32_t)random_next() % 100;
	make_verb(m, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&w->pd), 0x10000, 4096, 1), MAKE_PTR(&mr), 0);
	make_verb(m, VERB_ack_cq_events, MAKE_ARGS(MAKE_PTR(&w->cq), random_next() % 3), 0, 0);
	make_verb(m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&mr)), random_next() % 7 ? 0 : EBUSY, 0);
}

static void record_calls(uint32_t plain, uint64_t seed)
{
	struct maker makers[THREADS];
	struct make_world world = { 0 };
	struct writer *w;

	make_calls_plain = plain;
	make_now = 1000;
	random_seed = seed;
	unlink(path);
	w = make_writer(path);
	for (uint32_t i = 0; i < THREADS; i++)
		make_thread(&makers[i], w, i, 100, 100 + (int)i);
	for (int i = 0; i < EVENTS; i++) {
		struct maker *m = &makers[random_next() % THREADS];

		if (random_next() % 2)
			make_any(m, 0);
		else
			make_usual(m, &world);
	}
	for (int i = 0; i < THREADS; i++)
		make_end(&makers[i]);
	assert_int_equal(writer_finish(w), 0);
}

static int64_t query_number(const char *sql)
{
	struct trace *trace;
	int64_t n;

	assert_int_equal(trace_open(path, &trace), 0);
	n = sql_int(trace_db(trace), sql, -1);
	trace_close(trace);
	return n;
}

static void add_views(struct text *out, struct trace *trace)
{
	/* each way to find calls, with each order, and as the inner table of a join */
	static const char *const queries[] = {
		"SELECT * FROM calls ORDER BY 1, 2, 3",
		"SELECT * FROM mrs ORDER BY 1, 2, 3",
		"SELECT * FROM call WHERE thread = 2 ORDER BY n",
		"SELECT * FROM call WHERE thread = 2 AND n > 100 AND n <= 900 ORDER BY thread, n",
		"SELECT * FROM call WHERE thread >= 2 AND n < 77 ORDER BY n DESC, thread",
		"SELECT * FROM call WHERE verb IN ('ibv_reg_mr', 'ibv_open_device', 'x') ORDER BY"
		" begin",
		"SELECT * FROM call WHERE begin BETWEEN 3000 AND 5000.5 ORDER BY begin, thread",
		"SELECT n FROM call WHERE thread = '2' AND n = 101.0 ORDER BY n",
		"SELECT n FROM call WHERE thread = NULL OR object = 0 OR object = -1 ORDER BY n",
		"SELECT c.n, o.name FROM object o JOIN call c ON c.object = o.id ORDER BY 1, 2",
		"SELECT r.*, c.verb FROM ref r LEFT JOIN call c USING (thread, n) ORDER BY 1, 2, 3",
		"SELECT c.n, r.path FROM call c LEFT JOIN ref r ON r.thread = c.thread"
		" AND r.n = c.n AND r.path = 'pd' WHERE c.thread = 1 ORDER BY 1",
		"SELECT r.n, r.path FROM object o JOIN ref r ON r.object = o.id WHERE o.id < 9"
		" ORDER BY 1, 2",
		"SELECT a.n, b.n FROM call a JOIN call b ON b.thread = a.thread"
		" AND b.n = a.end_n + 1 ORDER BY 1, 2",
	};

	assert_int_equal(views_create(trace_db(trace), false, NULL), 0);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
		tables_add_rows(out, trace_db(trace), queries[i], queries[i]);
}

static void read_all(const char *from, struct text *out)
{
	const struct trace_event *e;
	struct cursor *cursor;
	struct trace *trace;
	int more;

	assert_int_equal(trace_open(from, &trace), 0);
	tables_add_all(out, trace);
	add_views(out, trace);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while ((more = cursor_next(cursor, &e)) > 0)
		text_addf(out, "%d %u:%llu %lld\n", (int)e->kind, e->id.thread,
			  (unsigned long long)e->id.n, (long long)e->time);
	assert_int_equal(more, 0);
	cursor_close(cursor);
	trace_close(trace);
}

/* The first line that differs is printed. */
static void assert_same(void)
{
	const char *a = rows.at, *b = blocks.at, *line_a = a, *line_b = b;

	assert_false(rows.failed || blocks.failed);
	for (; *a && *a == *b; a++, b++)
		if (*a == '\n') {
			line_a = a + 1;
			line_b = b + 1;
		}
	if (*a != *b)
		fail_msg("\n%.*s\n%.*s", (int)strcspn(line_a, "\n"), line_a,
			 (int)strcspn(line_b, "\n"), line_b);
}

TEST(a_trace_with_blocks_is_the_same_as_one_of_rows)
{
	uint64_t seed;

	random_choose();
	seed = random_seed;
	record_calls(UINT32_MAX, seed);
	assert_int_equal(query_number("SELECT count(*) FROM call_chunk"), 0);
	read_all(path, &rows);
	record_calls(1, seed);
	assert_true(query_number("SELECT sum(calls) FROM call_chunk") > EVENTS);
	assert_int_equal(query_number("SELECT sum(calls) FROM call_chunk"),
			 query_number("SELECT (SELECT count(*) FROM call)"
				      " - (SELECT count(*) FROM main.call)"));
	read_all(path, &blocks);
	assert_same();
}

TEST(an_unpacked_trace_has_rows)
{
	struct trace *trace;

	random_choose();
	record_calls(1, random_seed);
	snprintf(copy, sizeof(copy), "%s", make_path("unpacked.db"));
	assert_int_equal(trace_unpack(path, copy), 0);
	assert_int_equal(trace_open(copy, &trace), 0);
	assert_int_equal(sql_int(trace_db(trace), "SELECT count(*) FROM call_chunk", -1), 0);
	trace_close(trace);
	read_all(path, &blocks);
	read_all(copy, &rows);
	assert_same();
}

static void add_calls(const char *from, struct text *out)
{
	struct trace *trace;

	assert_int_equal(trace_open(from, &trace), 0);
	tables_add_rows(out, trace_db(trace), "call", "SELECT * FROM call");
	tables_add_rows(out, trace_db(trace), "ref", "SELECT * FROM ref");
	trace_close(trace);
}

/* Calls of any kind become rows first, and are packed as those of a recording. */
TEST(a_copy_has_blocks_and_the_same_calls)
{
	const struct excerpt all = EXCERPT_ALL;
	struct trace *trace;

	random_choose();
	record_calls(UINT32_MAX, random_seed);
	snprintf(copy, sizeof(copy), "%s", make_path("copy.db"));
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(excerpt_write(trace, &all, copy, NULL), 0);
	trace_close(trace);
	add_calls(path, &rows);
	add_calls(copy, &blocks);
	assert_same();
	assert_int_equal(trace_open(copy, &trace), 0);
	assert_true(sql_int(trace_db(trace), "SELECT sum(calls) FROM call_chunk", -1) > EVENTS);
	trace_close(trace);
}

static void name_files(void) __attribute__((constructor));
static void name_files(void)
{
	snprintf(path, sizeof(path), "%s", make_path("calls.db"));
}

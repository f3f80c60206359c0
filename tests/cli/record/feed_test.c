#include <sqlite3.h>

#include "core/store/open.h"
#include "cli/record/collector.h"
#include "cli/record/feed.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

/*
 * The ring of a program has at least one event of each kind, and one of its words is replaced. Many
 * such programs, each with another word or value, are read at once, together with an undamaged one;
 * then the trace is checked for the events that are left. An event is identified by its time, which
 * is unique.
 */
enum {
	PROGRAMS = 96, /* the first is undamaged */
	EVENTS = 96,
	KINDS = 16,
	VALUES = 5,
	PID = 0x3ffff000, /* more than possible */
};

#define BEGIN (1ull << 40)

static struct clock test_clock;

static char dir[] = "/tmp/feed_test-XXXXXX", trace_path[64];
static struct session session;
static struct maker makers[PROGRAMS];
static uint8_t content[RING_MIN]; /* of one ring */
static uint64_t content_bytes;

/* The word that was replaced, and the events that were read of that program. */
struct program {
	uint64_t at; /* word of the ring, 0 being the first; UINT64_MAX: none */
	uint64_t value;
	bool seen[EVENTS][KINDS];
	unsigned int damaged, orphans;
};

static struct program programs[PROGRAMS];

static void *put_event(struct maker *m, enum event_type type, const void *body, size_t bytes)
{
	size_t all = make_round(sizeof(struct event_head) + bytes);
	struct event_head *head = make_room(m, type, 0, all);

	memcpy(head + 1, body, bytes);
	make_done(m, head, all);
	return head;
}

#define PUT(m, type, ...)                                       \
	put_event(m, type, ((const uint64_t[]){ __VA_ARGS__ }), \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }))

static void put_payload(struct maker *m, const void *qp)
{
	struct event_payload e = {
		.object = MAKE_PTR(qp), .total = 16, .of = 1, .bytes = 16, .flags = PAYLOAD_LAST
	};
	size_t bytes = sizeof(e) + 16;
	struct event_payload *at = make_room(m, EVENT_PAYLOAD, 0, bytes);

	e.head = at->head;
	*at = e;
	memcpy(at + 1, "sixteen bytes ..", 16);
	make_done(m, at, bytes);
}

static void put_rare(struct maker *m, const struct make_world *w)
{
	make_module(m, 0x400000, 0x400000, 0x500000, "/usr/bin/app");
	make_fork(m, 1);
	PUT(m, EVENT_SPAWNED, 1 | 77ull << 32, 0);
	PUT(m, EVENT_SITE, 1 | 1ull << 16, 0x401234);
	PUT(m, EVENT_MARK, MARK_BEGIN | 5ull << 16, 0x6161616161);
	PUT(m, EVENT_WAITED, 5000, 1 | (uint64_t)WAITED_ROOM << 32);
	PUT(m, EVENT_BLIND, BLIND_DM, 0x77);
	PUT(m, EVENT_DIRECT, DIRECT_CALLED | 4ull << 16, 0x31323334);
	PUT(m, EVENT_COUNT, 7ull << 32, MAKE_PTR(&w->cq), 5);
}

static void put_data(struct maker *m, struct make_world *w)
{
	struct event_wc wc = make_wc(1, 0, IBV_WC_SEND, 17);
	struct event_wc_extra extra = { .timestamp = 1, .parts = WC_TIMESTAMP };

	put_payload(m, &w->qp);
	make_post(m, VERB_post_recv, &w->qp, 1, 0, 0);
	make_post(m, VERB_post_send, &w->qp, 2, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED);
	make_poll(m, &w->cq, 3, &wc, 1);
	make_poll_by(m, VERB_start_poll, &w->cq, 3, &wc, 1, &extra);
	make_notify(m, &w->cq);
}

static void put_thread(struct maker *m)
{
	struct event_thread e = { .tid = 7, .npolls = 1, .comm = "next" };
	struct ring_polls polls = { .cq = 0x1000, .empty = 1 };
	uint8_t body[sizeof(e) - sizeof(e.head) + sizeof(polls)];

	memcpy(body, &e.head + 1, sizeof(e) - sizeof(e.head));
	memcpy(body + sizeof(e) - sizeof(e.head), &polls, sizeof(polls));
	put_event(m, EVENT_THREAD, body, sizeof(body));
}

static void fill_ring(struct maker *m)
{
	static struct make_world w;
	struct ibv_async_event event = { .element.qp = &w.qp, .event_type = IBV_EVENT_QP_FATAL };
	union ibv_gid gid = { { 1 } };

	make_now = BEGIN;
	make_process(m, 1, 0, 0, 0);
	make_world(m, &w, 17);
	put_rare(m, &w);
	make_modify(m, &w, IBV_QPS_INIT);
	make_verb(m, VERB_query_gid, MAKE_ARGS(MAKE_PTR(&w.context), 1, 0, MAKE_PTR(&gid)), 0, 0);
	make_verb(m, VERB_get_async_event, MAKE_ARGS(MAKE_PTR(&w.context), MAKE_PTR(&event)), 0, 0);
	make_verb(m, VERB_ack_async_event, MAKE_ARGS(MAKE_PTR(&event)), 0, 0);
	put_data(m, &w);
	put_thread(m);
	put_data(m, &w);
	make_verb(m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&w.qp)), 0, 0);
	PUT(m, EVENT_EXIT, EXIT_EXIT);
	assert(make_now - BEGIN <= EVENTS);
}

static int make_session(void **state)
{
	(void)state;
	clock_init_monotonic(&test_clock);
	test_clock.start = BEGIN;
	if (!mkdtemp(dir) || session_create(&session, dir, RING_MIN, ON_FULL_DROP))
		return -1;
	snprintf(trace_path, sizeof(trace_path), "%s/t.db", dir);
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		char path[SESSION_PATH + 16];
		struct ring *ring = &makers[i].in;

		session_ring_path(&session, session_new_ring(&session), path);
		makers[i].pid = (int)(PID + i);
		if (ring_create(ring, path, RING_MIN, i, 1))
			return -1;
		ring->head->pid = PID + i;
		ring->head->ticks = BEGIN;
		fill_ring(&makers[i]);
	}
	content_bytes = makers[0].in.reserved;
	memcpy(content, makers[0].in.data, content_bytes);
	return 0;
}

static int remove_session(void **state)
{
	char old[sizeof(trace_path) + 8];

	(void)state;
	for (unsigned int i = 0; i < PROGRAMS; i++)
		ring_close(&makers[i].in);
	session_remove(&session);
	unlink(trace_path);
	snprintf(old, sizeof(old), "%s.old", trace_path);
	unlink(old);
	return rmdir(dir);
}

static uint64_t any_number(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* The @i-th word and value of all. */
static void damage_event(struct program *p, struct maker *m, uint64_t i)
{
	const uint64_t values[VALUES] = { 0, 2, UINT64_MAX, 1ull << 32, any_number() };
	uint64_t words = content_bytes / 8;

	memset(p, 0, sizeof(*p));
	memcpy(m->in.data, content, content_bytes);
	p->at = i < words * VALUES ? i / VALUES : UINT64_MAX;
	p->value = values[i % VALUES];
	if (p->at != UINT64_MAX)
		memcpy(m->in.data + p->at * 8, &p->value, 8);
}

static void record_program(void)
{
	struct writer_info info = { .clock = &test_clock, .command = "test", .device = "" };
	struct collector *collector;
	struct writer *writer;

	assert_int_equal(writer_create(trace_path, &info, &writer), 0);
	assert_int_equal(collector_new(&session, writer, &collector), 0);
	collector_note_leftover(collector);
	while (collector_drain(collector) > 0)
		;
	assert_int_equal(collector_finish(collector), 0);
	collector_free(collector);
	assert_int_equal(writer_finish(writer), 0);
}

static struct program *program_of(struct trace *trace, uint32_t process)
{
	const struct process *p = trace_process(trace, process);

	assert_non_null(p);
	assert_in_range(p->pid, PID, PID + PROGRAMS - 1);
	return &programs[p->pid - PID];
}

static void read_events(struct trace *trace)
{
	const struct trace_event *e;
	struct cursor *cursor;
	int more;

	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while ((more = cursor_next(cursor, &e)) > 0)
		if (e->time >= 0 && e->time < EVENTS)
			program_of(trace, e->process)->seen[e->time][e->kind] = true;
	assert_int_equal(more, 0);
	cursor_close(cursor);
}

static void read_coverage(struct trace *trace)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(trace_db(trace), "SELECT process, what FROM coverage",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		struct program *p = program_of(trace, (uint32_t)sqlite3_column_int(stmt, 0));
		const char *what = (const char *)sqlite3_column_text(stmt, 1);

		p->damaged += !strcmp(what, "damaged");
		p->orphans += !strcmp(what, "orphan");
	}
	sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_prepare_v2(trace_db(trace),
					    "SELECT count(*) FROM call WHERE NOT json_valid(args)"
					    " OR (out NOT NULL AND NOT json_valid(out))",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 0);
	sqlite3_finalize(stmt);
}

/* The index of the event that has word @at, which is also its time. */
static unsigned int event_at(uint64_t at, const struct event_head **ret_event)
{
	uint64_t word = 0;

	for (unsigned int i = 0;; i++) {
		*ret_event = (const void *)(content + word * 8);
		word += (*ret_event)->words;
		if (word > at)
			return i;
	}
}

static bool costs_its_event(const struct program *whole, const struct program *p)
{
	const struct event_head *event;
	unsigned int hit = event_at(p->at, &event), lost = 0, own = 0;
	uint64_t word;

	for (unsigned int i = 0; i < EVENTS; i++)
		for (unsigned int kind = 0; kind < KINDS; kind++)
			if (whole->seen[i][kind] && !p->seen[i][kind])
				*(i == hit || (kind == TRACE_PROCESS &&
					       event->type == EVENT_PROCESS)
					  ? &own
					  : &lost) += 1;
	word = p->at - (uint64_t)((const uint8_t *)event - content) / 8;
	/* a return without its call is counted as an orphan; a changed time is not a loss */
	if (lost <= p->orphans && (!own || p->damaged || p->orphans || word == 1))
		return true;
	print_error("word %u of event %u, type %u, is %llx: %u others are lost, %u damaged, %u "
		    "orphans\n",
		    (unsigned int)word, hit, event->type, (unsigned long long)p->value, lost,
		    p->damaged, p->orphans);
	return false;
}

FIXTURE(make_session, remove_session);

TEST(a_bad_word_costs_its_event)
{
	uint64_t cases = content_bytes / 8 * VALUES;
	unsigned int wrong = 0;

	for (uint64_t i = 0; i < cases; i += PROGRAMS - 1) {
		struct trace *trace;
		uint64_t damaged = 0;

		damage_event(&programs[0], &makers[0], UINT64_MAX / 2);
		for (unsigned int p = 1; p < PROGRAMS; p++)
			damage_event(&programs[p], &makers[p], i + p - 1);
		record_program();
		assert_int_equal(trace_open(trace_path, &trace), 0);
		read_events(trace);
		read_coverage(trace);
		assert_int_equal(programs[0].damaged + programs[0].orphans, 0);
		for (unsigned int p = 1; p < PROGRAMS; p++) {
			damaged += programs[p].damaged;
			if (programs[p].at != UINT64_MAX)
				wrong += !costs_its_event(&programs[0], &programs[p]);
		}
		assert_int_equal(trace_loss(trace).damaged, damaged);
		assert_true(damaged);
		trace_close(trace);
	}
	assert_int_equal(wrong, 0);
}

/* What a stray store of the program may leave there. */
TEST_WITH(counts_that_no_thread_can_reach_are_not_taken, NULL, NULL)
{
	const uint64_t most = 1ull << 48;
	struct ring_head head = { .index = 9, .pid = 9 }, read;
	struct feed feed = {
		.ring.head = &head, .index = 3, .pid = 100, .ticks = 5, .dropped = 11
	};

	for (uint64_t over = 0; over < 2; over++) {
		atomic_store(&head.dropped, most + over);
		atomic_store(&head.filtered, most + over);
		atomic_store(&head.uncounted, most + over);
		atomic_store(&head.in_handlers, most + over);
		feed_read_head(&feed, &read);
		assert_int_equal(atomic_load(&read.dropped), over ? 11 : most);
		assert_int_equal(atomic_load(&read.filtered), over ? 0 : most);
		assert_int_equal(atomic_load(&read.uncounted), over ? 0 : most);
		assert_int_equal(atomic_load(&read.in_handlers), over ? 0 : most);
		assert_int_equal(read.index, 3);
		assert_int_equal(read.pid, 100);
		assert_int_equal(atomic_load(&read.ticks), 5);
	}
}

TEST_WITH(a_held_ring_is_full_at_100_percent, NULL, NULL)
{
	static const int percents[][2] = {
		{ 0, 0 },     { 10, 0 },     { 11, 1 },     { 512, 50 },
		{ 1022, 99 }, { 1023, 100 }, { 1024, 100 }, { 5000, 100 }
	};

	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		const struct feed feed = {
			.freed = 7000,
			.ring = { .mask = 1023, .reserved = 7000 + (uint64_t)percents[i][0] }
		};

		assert_int_equal(feed_percent_held(&feed), percents[i][1]);
	}
}

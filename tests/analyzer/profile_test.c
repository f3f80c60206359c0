#include <errno.h>
#include <sqlite3.h>

#include "analyzer/profile/pass.h"
#include "tests/analyzer/story.h"

static struct story s;
static struct profile *profile;
static struct ibv_qp_init_attr attr = {
	.send_cq = &a_cq,
	.recv_cq = &a_cq,
	.qp_type = IBV_QPT_RC,
	.cap = { .max_send_wr = 8, .max_recv_wr = 4, .max_inline_data = 64 }
};

static int begin_story(void **state)
{
	(void)state;
	story_with_cq(&s);
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	return 0;
}

static int end_story(void **state)
{
	(void)state;
	profile_free(profile);
	profile = NULL;
	story_end(&s);
	return 0;
}

FIXTURE(begin_story, end_story);

static void send_one(uint64_t wr_id, uint32_t length)
{
	struct event_sge sge = { .addr = 0x1000, .length = length, .lkey = 0x10 };

	story_post(&s, 0, VERB_post_send, &a_qp, wr_id, IBV_WR_RDMA_WRITE, sge);
}

static void poll_one(uint64_t wr_id)
{
	story_poll(&s, 0, &a_cq, wr_id, IBV_WC_SUCCESS, a_qp.qp_num);
}

static const struct profile *profile_story(const struct profile_select *select)
{
	story_check(&s, NULL);
	assert_int_equal(profile_trace(s.trace, select, &profile), 0);
	return profile;
}

static const struct profile_requests *writes_of(const struct profile *p, uint64_t bytes)
{
	return p->requests[IBV_WR_RDMA_WRITE][profile_size_class(bytes)];
}

static const struct profile_place *index_of(const struct profile *p, enum verb verb)
{
	for (size_t i = 0; i < p->nplaces; i++)
		if (p->places[i].verb == verb)
			return &p->places[i];
	return NULL;
}

TEST(requests_are_counted_by_opcode_and_size)
{
	send_one(1, 64);
	send_one(2, 33);
	send_one(3, 65);
	poll_one(1);
	poll_one(2);
	poll_one(3);
	const struct profile *p = profile_story(NULL);

	assert_int_equal(writes_of(p, 64)->posted, 2);
	assert_int_equal(writes_of(p, 64)->least, 33);
	assert_int_equal(writes_of(p, 64)->most, 64);
	assert_int_equal(writes_of(p, 64)->latency.count, 2);
	assert_int_equal(writes_of(p, 65)->posted, 1);
	assert_int_equal(p->send.requests, 3);
	assert_int_equal(p->sent, 162);
	assert_int_equal(p->completions, 3);
}

/* A list of two, of which the device took @taken. */
static void post_two(uint32_t taken)
{
	struct event_post *event = (struct event_post *)s.words;
	struct event_sge sge = { .addr = 0x1000, .length = 64, .lkey = 0x10 };
	uint64_t *at = (uint64_t *)(event + 1);

	event->object = W(&a_qp);
	event->verb = VERB_post_send;
	event->nwr = 2;
	event->ret = taken < 2 ? ENOMEM : 0;
	event->bad = taken < 2 ? (taken + 1) & 3 : 0;
	for (int i = 0; i < 2; i++) {
		struct event_wr *wr = (struct event_wr *)at;

		wr->opcode = IBV_WR_RDMA_WRITE;
		wr->flags = i ? IBV_SEND_SIGNALED : IBV_SEND_INLINE;
		wr->nsge = 1;
		memcpy(wr + 1, &sge, sizeof(sge));
		at = (uint64_t *)(wr + 1) + sizeof(sge) / 8;
	}
	story_event(&s, 0, EVENT_POST, (size_t)(at - s.words));
}

TEST(refused_posts_count_with_what_was_taken)
{
	post_two(2);
	post_two(1);
	post_two(0);
	const struct profile *p = profile_story(NULL);
	const struct profile_place *place = index_of(p, VERB_post_send);
	const struct profile_queue *queue = NULL;

	for (size_t i = 0; i < p->nobjects; i++)
		if (p->queues[i])
			queue = p->queues[i];
	assert_int_equal(p->verbs[VERB_post_send].calls, 3);
	assert_int_equal(p->verbs[VERB_post_send].errors, 2);
	assert_int_equal(p->send.refused, 2);
	assert_int_equal(p->send.posts, 2);
	assert_int_equal(p->send.requests, 3);
	assert_int_equal(p->send.bytes, 3 * 64);
	assert_int_equal(p->send.signalled, 1);
	assert_int_equal(p->send.judged, 3);
	assert_int_equal(p->send.inlined, 2);
	assert_int_equal(p->send.small, 3);
	assert_int_equal(p->send.small_inline, 2);
	assert_int_equal(p->receive.posts, 0);
	assert_non_null(place);
	assert_int_equal(place->calls, 3);
	assert_int_equal(place->errors, 2);
	assert_int_equal(place->posts, 2);
	assert_int_equal(place->requests, 3);
	assert_int_equal(place->longest, 2);
	assert_int_equal(place->bytes, 3 * 64);
	assert_int_equal(place->signalled, 1);
	assert_int_equal(place->inlined, 2);
	assert_non_null(queue);
	assert_int_equal(queue->send.refused, 2);
	assert_int_equal(queue->send.posts, 2);
	assert_int_equal(queue->send.requests, 3);
	assert_int_equal(queue->send.signalled, 1);
	assert_int_equal(queue->send.small_inline, 2);
	assert_int_equal(queue->sent, 3 * 64);
	assert_int_equal(p->processes[0].posts, 3);
	assert_int_equal(p->processes[0].requests, 3);
	assert_int_equal(p->threads[0].posts, 3);
	assert_int_equal(p->threads[0].requests, 3);
}

TEST(latency_is_from_the_post_to_the_poll)
{
	send_one(1, 64); /* 1000 ns a step */
	send_one(2, 64);
	poll_one(1);
	poll_one(2);
	const struct histogram *h = &writes_of(profile_story(NULL), 64)->latency;

	assert_int_equal(h->least, 2000);
	assert_int_equal(h->max, 2000);
}

TEST(high_water_is_of_what_was_outstanding)
{
	send_one(1, 64);
	send_one(2, 64);
	poll_one(1);
	send_one(3, 64);
	send_one(4, 64);
	poll_one(2);
	const struct profile *p = profile_story(NULL);
	const struct profile_queue *queue = NULL;

	for (size_t i = 0; i < p->nobjects; i++)
		if (p->queues[i])
			queue = p->queues[i];
	assert_non_null(queue);
	assert_true(queue->send.known);
	assert_int_equal(queue->send.doubt, 0);
	assert_int_equal(queue->send.high, 3);
	assert_int_equal(queue->send.asked, 8);
}

TEST(calls_between_two_posts_are_while_posting)
{
	reg_mr(&s, &a_mr);
	send_one(1, 64);
	reg_mr(&s, &a_mr);
	send_one(2, 64);
	reg_mr(&s, &a_mr);
	const struct profile *p = profile_story(NULL);

	assert_int_equal(p->verbs[VERB_reg_mr].calls, 3);
	assert_int_equal(p->verbs[VERB_reg_mr].posting, 1);
	assert_int_equal(p->verbs[VERB_reg_mr].posting_ns, 1000);
	assert_int_equal(p->registered, 3);
	assert_int_equal(p->registered_bytes, 3 * 4096);
	assert_int_equal(index_of(p, VERB_reg_mr)->calls, 3);
	assert_int_equal(index_of(p, VERB_reg_mr)->posting, 1);
	assert_int_equal(index_of(p, VERB_reg_mr)->stack != 0, 1);
}

TEST(a_part_by_time_counts_what_is_in_it)
{
	struct profile_select select = { 0 };

	send_one(1, 64);
	send_one(2, 64);
	select.from = (int64_t)s.now + 500;
	poll_one(1);
	send_one(3, 64);
	select.to = (int64_t)s.now + 500;
	poll_one(2);
	const struct profile *p = profile_story(&select);

	assert_true(p->partial);
	assert_int_equal(p->send.requests, 1);
	assert_int_equal(p->completions, 1);
	assert_int_equal(writes_of(p, 64)->latency.count, 1);
	assert_int_equal(p->duration, select.to - select.from);
}

TEST(sizes_have_classes_up_to_a_power_of_two)
{
	static const struct {
		uint64_t bytes;
		unsigned int class;
	} rows[] = { { 0, 0 },          { 1, 1 },           { 2, 2 },
		     { 3, 3 },          { 4, 3 },           { 64, 7 },
		     { 65, 8 },         { 1ull << 32, 33 }, { (1ull << 32) + 1, 34 },
		     { UINT64_MAX, 34 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(profile_size_class(rows[i].bytes), rows[i].class);
		assert_true(profile_size_end(rows[i].class) >= rows[i].bytes);
	}
	profile_story(NULL);
}

/* The process marks its phase: @text begins or ends. */
static void mark_phase(enum event_mark_kind kind, const char *text)
{
	struct event_mark *event = (struct event_mark *)s.words;
	size_t bytes = strlen(text);

	event->kind = (uint16_t)kind;
	event->bytes = (uint16_t)bytes;
	memcpy(event + 1, text, bytes);
	story_event(&s, 0, EVENT_MARK, (sizeof(*event) + bytes + 7) / 8);
}

TEST(a_phase_counts_what_is_in_it)
{
	static const char *const phases[] = { "measure", "cool down" };
	struct profile_select select = { .phases = phases, .nphases = 2 };

	send_one(1, 64);
	mark_phase(MARK_BEGIN, "measure");
	send_one(2, 64);
	mark_phase(MARK_BEGIN, "other");
	send_one(3, 64);
	mark_phase(MARK_END, "other");
	mark_phase(MARK_END, "measure");
	send_one(4, 64);
	mark_phase(MARK_BEGIN, "cool down");
	send_one(5, 64);
	const struct profile *p = profile_story(&select);

	assert_int_equal(p->send.requests, 3);
	assert_int_equal(p->duration, 5000 + 1000);
	assert_int_equal(p->send.gap.count, 1); /* none over the end of a phase */
}

TEST(a_phase_in_itself_ends_once)
{
	static const char *const phases[] = { "round" };
	struct profile_select select = { .phases = phases, .nphases = 1 };

	mark_phase(MARK_BEGIN, "round");
	mark_phase(MARK_BEGIN, "round");
	mark_phase(MARK_END, "round");
	send_one(1, 64);
	mark_phase(MARK_END, "round");
	send_one(2, 64);
	assert_int_equal(profile_story(&select)->send.requests, 1);
}

/* Threads waited: written by the recorder after the wait. */
static void wait_for_room(uint64_t began, uint64_t ticks, enum event_waited_why why)
{
	struct event_waited *event = (struct event_waited *)s.words;

	event->ticks = ticks;
	event->times = 1;
	event->why = why;
	s.now = began - 1000;
	story_event(&s, 0, EVENT_WAITED, sizeof(*event) / 8);
}

/* The row that `verbatim record` writes to its traces. */
static void tell_of_waits(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE meta SET value = 'yes' WHERE key = 'waits'", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
}

TEST(waits_are_known_where_they_were_recorded)
{
	wait_for_room(s.now + 1000, 70000, WAITED_ROOM);
	assert_false(profile_story(NULL)->waited.known); /* a story's writer does not write it */
}

/* The stack of a story is not known: all its posts have one. */
TEST(places_are_by_process_until_they_are_joined)
{
	const struct profile_select select = { .by_process = true };
	int other = story_thread(&s, 2, 0, 0);

	story_do(&s, other, VERB_fork_init, 0, 0);
	story_do(&s, 0, VERB_fork_init, 0, 0);
	const struct profile *p = profile_story(&select);
	uint64_t calls[2] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < p->nplaces; i++)
		if (p->places[i].verb == VERB_fork_init)
			calls[n++ ? 1 : 0] += p->places[i].calls;
	assert_int_equal(n, 2);
	n = p->nplaces;
	profile_join_places(profile);
	assert_int_equal(profile->nplaces, n - 1);
	for (size_t i = 0; i < profile->nplaces; i++)
		if (profile->places[i].verb == VERB_fork_init)
			assert_int_equal(profile->places[i].calls, calls[0] + calls[1]);
}

TEST(waits_are_counted_in_their_part)
{
	struct profile_select select = { 0 };
	int64_t second;

	wait_for_room(s.now + 1000, 70000, WAITED_ROOM);
	wait_for_room(s.now + 100000, 50000, WAITED_LONGER);
	second = (int64_t)s.now;
	send_one(1, 64);
	story_check(&s, NULL);
	trace_close(s.trace);
	tell_of_waits(s.path);
	assert_int_equal(trace_open(s.path, &s.trace), 0);
	assert_int_equal(profile_trace(s.trace, NULL, &profile), 0);
	assert_true(profile->waited.known);
	assert_int_equal(profile->waited.times, 2);
	assert_int_equal(profile->waited.ns, 120000);
	assert_int_equal(profile->waited.most, 70000);
	assert_int_equal(profile->waited.full, 1);
	assert_int_equal(profile->waited.longer_ns, 50000);
	assert_int_equal(profile->threads[0].waited_ns, 120000);
	profile_free(profile);
	select.from = second - 10;
	assert_int_equal(profile_trace(s.trace, &select, &profile), 0);
	assert_int_equal(profile->waited.times, 1);
	assert_int_equal(profile->waited.ns, 50000);
}

TEST(posts_are_counted_with_their_gaps)
{
	send_one(1, 64);
	send_one(2, 64);
	const struct profile *p = profile_story(NULL);

	assert_int_equal(p->send.posts, 2);
	assert_int_equal(p->send.list.max, 1);
	assert_int_equal(p->send.distance.count, 2);
	assert_int_equal(p->send.gap.count, 1);
	assert_int_equal(p->send.gap.max, 1000);
}

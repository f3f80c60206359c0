/*
 * analyzer/model/window.c: when a key of a memory window is valid
 *
 * Its invalidation is request 2 of post 1:40, at 40 ns, of a queue pair of process 3. There are two
 * more windows: of that process, and of its peer's process 4.
 */
#include "analyzer/model/window.h"

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "tests/test.h"

enum { HANDLE = 0x70, NREQUESTS = 3, RKEY = 0x1207 };

static struct model model;
static struct life life;
static struct qp qp;
static struct queue queue;
static struct queue_request ring[4];
static struct key key, own, its;
static bool is_found, has_other;
static struct peer peer, other;

struct life *lives_find(const struct lives *lives, uint32_t process, enum object_kind kind,
			uint64_t handle)
{
	assert_ptr_equal(lives, &model.lives);
	assert_int_equal(process, 3);
	assert_int_equal(kind, OBJECT_qp);
	assert_int_equal(handle, HANDLE);
	return is_found ? &life : NULL;
}

struct key *keys_find_rkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t rkey)
{
	assert_ptr_equal(keys, &model.keys);
	if (rkey != RKEY)
		return NULL;
	return process == 3 && context == 0x30   ? &own
	       : process == 4 && context == 0x40 ? &its
						 : NULL;
}

static const struct moment *replaced_by;
static uint32_t renamed;

void keys_replace(struct keys *keys, const struct key *former, const struct moment *moment)
{
	assert_ptr_equal(keys, &model.keys);
	assert_ptr_equal(former, &key);
	replaced_by = moment;
}

int keys_rename(struct keys *keys, struct key *of, uint32_t lkey, uint32_t rkey)
{
	assert_ptr_equal(keys, &model.keys);
	assert_int_equal(lkey, 0);
	of->rkey = rkey;
	renamed = rkey;
	return 0;
}

struct peer *peer_find_other(struct peers *peers, struct peer *of)
{
	assert_ptr_equal(peers, &model.peers);
	if (of)
		assert_ptr_equal(of, &peer);
	return of && has_other ? &other : NULL;
}

const char *words_format_span(int64_t ns, char text[32])
{
	snprintf(text, 32, "%.1f ms", (double)ns / 1e6);
	return text;
}

static int begin_window(void **state)
{
	(void)state;
	memset(&model, 0, sizeof(model));
	replaced_by = NULL;
	renamed = 0;
	is_found = has_other = true;
	qp = (struct qp){ .reset = 0 };
	life = (struct life){ .state = LIFE_LIVE,
			      .qp = &qp,
			      .sq = &queue,
			      .created.time = 10,
			      .peer = &peer,
			      .context = 0x30 };
	queue = (struct queue){ .ring = ring, .size = 4, .first = 2, .count = NREQUESTS };
	for (uint32_t i = 0; i < 4; i++)
		ring[i] = (struct queue_request){ .thread = 1, .n = 39, .index = i };
	key = (struct key){ .kind = OBJECT_mw,
			    .bind.at.id = { 1, 30 },
			    .invalid = { .at = { .id = { 1, 40 }, .process = 3, .time = 40 },
					 .index = 2,
					 .qp = HANDLE } };
	own = its = (struct key){ .kind = OBJECT_mw, .state = KEY_LIVE };
	peer = (struct peer){ 0 };
	other = (struct peer){ .process = 4, .context = 0x40 };
	return 0;
}

FIXTURE(begin_window, NULL);

static enum window_state state_of(void)
{
	return window_state(&model, &key);
}

TEST(a_window_is_bound_from_its_bind_on)
{
	(void)state;
	key.invalid.at.id.thread = 0;
	assert_int_equal(state_of(), WINDOW_BOUND);
	key.bind.ends = true;
	assert_int_equal(state_of(), WINDOW_UNBOUND);
	key.bind.ends = false;
	key.bind.at.id.thread = 0;
	assert_int_equal(state_of(), WINDOW_UNBOUND);
}

TEST(it_is_invalid_when_its_request_is_done)
{
	struct queue_request *request = &ring[0]; /* the last of the three */

	(void)state;
	assert_int_equal(state_of(), WINDOW_INVALID); /* it is outstanding no longer */
	*request = (struct queue_request){ .thread = 1, .n = 40, .index = 2 };
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	request->done = true;
	assert_int_equal(state_of(), WINDOW_INVALID);
	request->done = false;
	request->thread = 2;
	assert_int_equal(state_of(), WINDOW_INVALID);
	request->thread = 1;
	request->n = 41;
	assert_int_equal(state_of(), WINDOW_INVALID);
	request->n = 40;
	request->index = 1;
	assert_int_equal(state_of(), WINDOW_INVALID);
}

TEST(a_request_that_failed_may_have_been_done)
{
	(void)state;
	key.invalid.failed = true;
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	key.invalid.certain = true; /* its receive was polled */
	assert_int_equal(state_of(), WINDOW_INVALID);
}

TEST(a_queue_that_is_not_known_shows_nothing)
{
	(void)state;
	is_found = false;
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	is_found = true;
	life.state = LIFE_LIVE + 1;
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	life.state = LIFE_LIVE;
	life.sq = NULL;
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	life.sq = &queue;
	queue.doubt = 1;
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	queue.doubt = 0;
	life.created.time = 41; /* another window at the same address */
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	life.created.time = 40;
	assert_int_equal(state_of(), WINDOW_INVALID);
	qp.reset = 41; /* its requests are gone, done or not */
	assert_int_equal(state_of(), WINDOW_INVALIDATING);
	qp.reset = 40;
	assert_int_equal(state_of(), WINDOW_INVALID);
	life.qp = NULL;
	assert_int_equal(state_of(), WINDOW_INVALID);
}

static const struct key *invalidate_by(int opcode, uint32_t rkey)
{
	const struct wr wrs[] = { { 0 }, { .opcode = opcode, .imm = rkey } };
	const struct post post = { .verb = VERB_post_send, .handle = HANDLE, .nwr = 2, .wr = wrs };
	const struct trace_event event = {
		.kind = TRACE_POST, .id = { 1, 50 }, .process = 3, .time = 50, .post = &post
	};

	own.invalid = its.invalid = (struct key_invalid){ 0 };
	window_note_invalidated(&model, &event, &life, 1);
	return own.invalid.at.id.thread ? &own : its.invalid.at.id.thread ? &its : NULL;
}

TEST(a_request_invalidates_a_window_of_either_end)
{
	(void)state;
	assert_ptr_equal(invalidate_by(ABI_WR_LOCAL_INV, RKEY), &own);
	assert_int_equal(own.state, KEY_CHANGING);
	assert_int_equal(own.invalid.index, 1);
	assert_int_equal(own.invalid.opcode, ABI_WR_LOCAL_INV);
	assert_int_equal(own.invalid.qp, HANDLE);
	assert_int_equal(own.invalid.at.id.n, 50);
	assert_int_equal(own.invalid.at.time, 50);
	assert_int_equal(its.state, KEY_LIVE);
	assert_ptr_equal(invalidate_by(ABI_WR_SEND_WITH_INV, RKEY), &its);
	assert_int_equal(its.state, KEY_CHANGING);
	assert_int_equal(its.invalid.opcode, ABI_WR_SEND_WITH_INV);
}

TEST(what_is_no_valid_window_is_not_invalidated)
{
	(void)state;
	assert_null(invalidate_by(ABI_WR_LOCAL_INV, RKEY + 1));
	own.kind = OBJECT_mr;
	assert_null(invalidate_by(ABI_WR_LOCAL_INV, RKEY));
	own.kind = OBJECT_mw;
	own.state = KEY_CHANGING; /* by an earlier one */
	assert_null(invalidate_by(ABI_WR_LOCAL_INV, RKEY));
	own.state = KEY_DEAD;
	assert_null(invalidate_by(ABI_WR_LOCAL_INV, RKEY));
	has_other = false;
	assert_null(invalidate_by(ABI_WR_SEND_WITH_INV, RKEY));
	life.peer = NULL;
	assert_null(invalidate_by(ABI_WR_SEND_WITH_INV, RKEY));
}

static void fail_request(uint32_t thread, uint64_t n, uint32_t index, uint32_t process, int opcode)
{
	const struct trace_event event = { .process = process };
	const struct queue_request request = {
		.thread = thread, .n = n, .index = index, .opcode = (int16_t)opcode
	};

	window_restore(&model, &event, &request);
}

TEST(a_request_that_fails_keeps_its_window)
{
	(void)state;
	model.keys.live.newest = &own;
	own.older = &key;
	fail_request(2, 40, 2, 3, ABI_WR_LOCAL_INV);
	fail_request(1, 41, 2, 3, ABI_WR_LOCAL_INV);
	fail_request(1, 40, 1, 3, ABI_WR_LOCAL_INV);
	fail_request(1, 40, 2, 4, ABI_WR_LOCAL_INV);
	assert_int_equal(key.invalid.at.id.n, 40);
	assert_false(key.invalid.failed);
	fail_request(1, 40, 2, 3, ABI_WR_SEND_WITH_INV); /* its message may have arrived */
	assert_int_equal(key.invalid.at.id.n, 40);
	assert_true(key.invalid.failed);
	fail_request(1, 40, 2, 3, ABI_WR_LOCAL_INV);
	assert_int_equal(key.invalid.at.id.n, 0);
	assert_false(key.invalid.failed);
}

static void report_key(uint32_t rkey)
{
	const struct wc wc = { .imm = rkey };
	const struct poll poll = { .nwc = 1, .wc = &wc };
	const struct trace_event event = {
		.kind = TRACE_POLL, .id = { 2, 60 }, .process = 3, .time = 60, .poll = &poll
	};

	window_note_remote_invalidation(&model, &event, &life, &wc);
}

TEST(a_receive_reports_what_was_invalidated)
{
	(void)state;
	report_key(RKEY + 1);
	assert_false(own.invalid.certain);
	report_key(RKEY);
	assert_true(own.invalid.certain);
	assert_int_equal(own.state, KEY_CHANGING);
	assert_int_equal(own.invalid.at.id.n, 60);
	assert_int_equal(own.invalid.opcode, ABI_WR_SEND_WITH_INV);
	own.invalid = key.invalid; /* its request is known: it is older */
	report_key(RKEY);
	assert_true(own.invalid.certain);
	assert_int_equal(own.invalid.at.id.n, 40);
}

TEST(an_invalidation_is_reported_with_its_time)
{
	char text[WINDOW_TEXT];

	(void)state;
	key.invalid.opcode = ABI_WR_LOCAL_INV;
	assert_string_equal(window_invalid_text(&key, 40 + 64000000, text),
			    "IBV_WR_LOCAL_INV 1:40, 64.0 ms earlier, invalidated it");
	key.invalid.opcode = 99;
	assert_string_equal(window_invalid_text(&key, 40 + 64000000, text),
			    "a request 1:40, 64.0 ms earlier, invalidated it");
}

TEST(a_window_that_is_bound_has_the_range_of_its_bind)
{
	struct key as = { 0 };

	(void)state;
	key.any = true;
	key.bind.at.time = 30;
	key.bind.addr = 0x1000;
	key.bind.length = 64;
	assert_false(window_make_key(&model, &key, 50, &as)); /* it is being invalidated */
	key.invalid.at = (struct moment){ 0 };
	assert_false(window_make_key(&model, &key, 30, &as));
	assert_true(window_make_key(&model, &key, 31, &as));
	assert_int_equal(as.addr, 0x1000);
	assert_int_equal(as.length, 64);
	assert_false(as.any);
	key.bind.access = ABI_ACCESS_ZERO_BASED;
	assert_true(window_make_key(&model, &key, 31, &as));
	assert_int_equal(as.addr, 0);
	assert_int_equal(as.memory, 0x1000);
}

TEST(a_bind_replaces_another_key)
{
	const struct key_bind bind = { .at.id = { 1, 70 }, .length = 5 };

	(void)state;
	key.rkey = RKEY;
	assert_int_equal(window_bind(&model.keys, &key, &bind, RKEY + 1), 0);
	assert_ptr_equal(replaced_by, &key.invalid.at); /* since then it is not valid */
	assert_int_equal(renamed, RKEY + 1);
	assert_int_equal(key.bind.length, 5);
	assert_int_equal(key.invalid.at.id.thread, 0);
	assert_int_equal(window_bind(&model.keys, &key, &bind, RKEY + 2), 0);
	assert_ptr_equal(replaced_by, &bind.at);
	replaced_by = NULL;
	assert_int_equal(window_bind(&model.keys, &key, &bind, RKEY + 2), 0); /* the same */
	key.bind.ends = true;
	assert_int_equal(window_bind(&model.keys, &key, &bind, RKEY + 3), 0);
	key.bind.at.id.thread = 0;
	assert_int_equal(window_bind(&model.keys, &key, &bind, RKEY + 4), 0);
	assert_null(replaced_by);
}

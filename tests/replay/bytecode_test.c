/*
 * Steps that are written to a code are read back unchanged.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "replay/schedule/bytecode.h"
#include "tests/test.h"

enum { THREAD = 3, PLAYERS = 2 };

static struct bytecode *bytecode;
static bool again; /* the next events are the last ones again */

static int begin_bytecode(void **state)
{
	(void)state;
	again = false;
	return bytecode_new(PLAYERS, 1 << 20, &bytecode);
}

static int free_bytecode(void **state)
{
	(void)state;
	bytecode_free(bytecode);
	return 0;
}

FIXTURE(begin_bytecode, free_bytecode);

static void put_event(const struct trace_event *event, uint64_t seq)
{
	const struct step step = { .event = { event, NULL },
				   .seq = seq,
				   .player = 1,
				   .nwaits = 1,
				   .waits = { { 2, seq / 2 } } };

	assert_int_equal(bytecode_put_step(bytecode, &step), 0);
}

static struct trace_event event_of(enum trace_event_kind kind, uint64_t n)
{
	return (struct trace_event){ .kind = kind,
				     .id = { THREAD, n },
				     .process = 2,
				     .time = (int64_t)(1000 * n),
				     .again = again };
}

static struct ready_step *next_step(uint64_t n)
{
	struct ready_step *ready = NULL;

	assert_int_equal(player_code_next(bytecode_of_player(bytecode, 1), &ready), 1);
	assert_int_equal(ready->event.id.thread, THREAD);
	assert_int_equal(ready->event.id.n, n);
	assert_int_equal(ready->event.process, 2);
	assert_int_equal(ready->event.time, 1000 * n);
	assert_int_equal(ready->nwaits, 1);
	assert_int_equal(ready->waits[0].player, 2);
	assert_int_equal(ready->waits[0].seq, ready->seq / 2);
	return ready;
}

static void assert_end(void)
{
	struct ready_step *ready;

	assert_int_equal(player_code_next(bytecode_of_player(bytecode, 1), &ready), 0);
	assert_int_equal(player_code_next(bytecode_of_player(bytecode, 1), &ready), 0);
}

/* Two requests, of one and of two SGEs; the first one's address is @addr. */
static void put_post(uint64_t n, uint64_t addr)
{
	const struct sge sges[] = { { addr, 8, 1 }, { 0x2000, 16, 2 }, { 0x3000, 24, 3 } };
	const struct wr wrs[] = {
		{ .wr_id = 7, .opcode = IBV_WR_SEND, .num_sge = 1, .nsge = 1, .sge = sges },
		{ .wr_id = 8, .opcode = IBV_WR_SEND, .num_sge = 2, .nsge = 2, .sge = sges + 1 },
	};
	const struct post post = { .verb = VERB_post_send, .object = 5, .nwr = 2, .wr = wrs };
	struct trace_event event = event_of(TRACE_POST, n);

	event.post = &post;
	put_event(&event, n);
}

static void assert_post(const struct ready_step *ready, uint64_t addr)
{
	const struct post *post = ready->event.post;

	assert_int_equal(ready->event.kind, TRACE_POST);
	assert_int_equal(post->verb, VERB_post_send);
	assert_int_equal(post->object, 5);
	assert_int_equal(post->nwr, 2);
	assert_int_equal(post->wr[0].wr_id, 7);
	assert_int_equal(post->wr[0].sge[0].addr, addr);
	assert_int_equal(post->wr[1].wr_id, 8);
	assert_int_equal(post->wr[1].nsge, 2);
	assert_int_equal(post->wr[1].sge[0].addr, 0x2000);
	assert_int_equal(post->wr[1].sge[1].length, 24);
}

TEST(a_post_comes_as_it_was)
{
	struct ready_step *ready;

	put_post(10, 0x1000);
	put_post(20, 0x1000);
	put_post(30, 0x1008);
	bytecode_end(bytecode);
	ready = next_step(10);
	assert_post(ready, 0x1000);
	assert_true(ready->changed);
	ready->changed = false;
	ready->kept = malloc(1);
	ready = next_step(20);
	assert_post(ready, 0x1000);
	assert_false(ready->changed);
	assert_non_null(ready->kept);
	ready = next_step(30);
	assert_post(ready, 0x1008);
	assert_true(ready->changed);
	assert_non_null(ready->kept);
	assert_end();
}

static void put_poll(uint64_t n, struct event_id request, uint64_t empty)
{
	const struct wc wcs[] = {
		{ .wr_id = 7, .qp = 4, .request = request },
		{ .wr_id = 8, .qp = 5, .request = { 9, 77 }, .posted_at = 5, .candidates = 3 },
		{ .wr_id = 9, .qp = 5, .status = IBV_WC_RETRY_EXC_ERR, .posted_at = 6 },
	};
	const struct poll poll = {
		.verb = VERB_poll_cq, .object = 6, .ret = 3, .nwc = 3, .wc = wcs, .empty = empty
	};
	struct trace_event event = event_of(TRACE_POLL, n);

	event.poll = &poll;
	put_event(&event, n);
}

static void assert_poll(const struct ready_step *ready, uint64_t request, uint64_t empty)
{
	const struct poll *poll = ready->event.poll;

	assert_int_equal(poll->nwc, 3);
	assert_int_equal(poll->empty, empty);
	assert_int_equal(poll->wc[0].qp, 4);
	assert_int_equal(poll->wc[0].request.thread, THREAD);
	assert_int_equal(poll->wc[0].request.n, request);
	assert_int_equal(poll->wc[1].wr_id, 8);
	assert_int_equal(poll->wc[1].request.thread, 9);
	assert_int_equal(poll->wc[1].request.n, 77);
	assert_int_equal(poll->wc[2].status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(poll->wc[2].posted_at, 6);
	assert_int_equal(poll->wc[2].request.thread, 0);
	assert_int_equal(poll->wc[2].request.n, 0);
}

/* The post of a completion may be a different one in each poll, by the same or another thread. */
TEST(the_posts_of_completions_come_as_they_were)
{
	struct ready_step *ready;

	put_poll(10, (struct event_id){ THREAD, 4 }, 3);
	put_poll(20, (struct event_id){ THREAD, 14 }, 4);
	put_poll(30, (struct event_id){ THREAD, 14 }, 0);
	put_poll(40, (struct event_id){ THREAD + 1, 14 }, 0);
	bytecode_end(bytecode);
	ready = next_step(10);
	assert_poll(ready, 4, 3);
	assert_true(ready->changed);
	ready->changed = false;
	ready = next_step(20);
	assert_poll(ready, 14, 4);
	assert_false(ready->changed);
	ready = next_step(30);
	assert_poll(ready, 14, 0);
	assert_false(ready->changed);
	ready = next_step(40);
	assert_int_equal(ready->event.poll->wc[0].request.thread, THREAD + 1);
	assert_int_equal(ready->event.poll->wc[0].request.n, 14);
	assert_true(ready->changed);
	assert_end();
}

TEST(steps_that_are_there_again_come_as_they_were)
{
	for (int i = 0; i < 2; i++) {
		put_post(100 * i + 10, 0x1000 + i);
		put_poll(100 * i + 20, (struct event_id){ THREAD, 10 }, 0);
		again = true;
		put_post(100 * i + 30, 0x1000 + i);
		put_poll(100 * i + 40, (struct event_id){ THREAD, 25 }, 7);
		put_poll(100 * i + 50, (struct event_id){ THREAD, 26 }, 8);
		again = false;
	}
	bytecode_end(bytecode);
	for (int i = 0; i < 2; i++) {
		assert_post(next_step(100 * i + 10), 0x1000 + i);
		assert_poll(next_step(100 * i + 20), 10, 0);
		assert_post(next_step(100 * i + 30), 0x1000 + i);
		assert_poll(next_step(100 * i + 40), 25, 7);
		assert_poll(next_step(100 * i + 50), 26, 8);
	}
	assert_end();
}

/* A poll of one completion; and a post of one request, of one SGE. */
static void put_one_completion(uint64_t n, const struct wc *wc)
{
	const struct poll poll = { .verb = VERB_poll_cq, .object = 6, .nwc = 1, .wc = wc };
	struct trace_event event = event_of(TRACE_POLL, n);

	event.poll = &poll;
	put_event(&event, n);
}

static void put_one_request(uint64_t n, const struct wr *wr)
{
	const struct post post = { .verb = VERB_post_send, .object = 5, .nwr = 1, .wr = wr };
	struct trace_event event = event_of(TRACE_POST, n);

	event.post = &post;
	put_event(&event, n);
}

/* Each byte of a completion differs from the last one, except those that the code does not have. */
TEST(each_member_of_a_completion_comes_as_it_was)
{
	enum { END = offsetof(struct wc, request.n) };
	struct wc wc = { .request = { THREAD, 1 } };

	for (uint64_t i = 0; i < END; i++) {
		((char *)&wc)[i] ^= 0x40;
		put_one_completion(i + 1, &wc);
	}
	wc.request_index = 3;
	put_one_completion(END + 1, &wc);
	bytecode_end(bytecode);
	memset(&wc, 0, sizeof(wc));
	wc.request = (struct event_id){ THREAD, 1 };
	for (uint64_t i = 0; i < END; i++) {
		((char *)&wc)[i] ^= 0x40;
		assert_memory_equal(next_step(i + 1)->event.poll->wc, &wc, END);
	}
	assert_int_equal(next_step(END + 1)->event.poll->wc->request_index, 3);
	assert_end();
}

TEST(each_member_of_a_request_comes_as_it_was)
{
	enum { END = offsetof(struct wr, sge) };
	struct sge sge = { .addr = 1 };
	struct wr wr = { .nsge = 1, .sge = &sge };
	uint64_t n = 0;

	for (size_t i = 0; i < END; i++)
		if (i / 4 != offsetof(struct wr, nsge) / 4) {
			((char *)&wr)[i] ^= 0x40;
			put_one_request(++n, &wr);
		}
	for (size_t i = 0; i < sizeof(sge); i++) {
		((char *)&sge)[i] ^= 0x40;
		put_one_request(++n, &wr);
	}
	bytecode_end(bytecode);
	memset(&wr, 0, END);
	wr.nsge = 1;
	sge = (struct sge){ .addr = 1 };
	n = 0;
	for (size_t i = 0; i < END; i++)
		if (i / 4 != offsetof(struct wr, nsge) / 4) {
			((char *)&wr)[i] ^= 0x40;
			assert_memory_equal(next_step(++n)->event.post->wr, &wr, END);
		}
	for (size_t i = 0; i < sizeof(sge); i++) {
		((char *)&sge)[i] ^= 0x40;
		assert_memory_equal(next_step(++n)->event.post->wr->sge, &sge, sizeof(sge));
	}
	assert_end();
}

/* Words of one bit: other four words are often the same as those that have changed. */
TEST(any_words_come_as_they_were)
{
	enum {
		STEPS = 2000,
		SENDS = offsetof(struct wr, sge),
		WCS = offsetof(struct wc, request.n)
	};
	struct sge sge = { 0 };
	uint64_t words[2 * (sizeof(struct wc) + sizeof(struct wr)) / 8] = { 0 };
	struct wr *wr = (struct wr *)(words + sizeof(words) / 8 / 2);
	struct wc *wc = (struct wc *)wr;
	unsigned int seed;

	for (int is_read = 0; is_read < 2; is_read++) {
		seed = 1;
		for (uint64_t n = 1; n <= STEPS; n++) {
			for (size_t i = 0; i < sizeof(words) / 8; i++)
				words[i] = rand_r(&seed) >> 8 & 1;
			if (n % 2) {
				wr->nsge = 1;
				wr->sge = &sge;
			}
			if (!is_read && n % 2)
				put_one_request(n, wr);
			else if (!is_read)
				put_one_completion(n, wc);
			else if (n % 2)
				assert_memory_equal(next_step(n)->event.post->wr, wr, SENDS);
			else
				assert_memory_equal(next_step(n)->event.poll->wc, wc, WCS);
		}
		if (!is_read)
			bytecode_end(bytecode);
	}
	assert_end();
}

TEST(the_results_of_posts_and_polls_come_as_they_were)
{
	const struct wr wr = { .wr_id = 7 };
	struct post post = { .verb = VERB_post_recv, .object = 5, .nwr = 1, .wr = &wr };
	struct poll poll = { .verb = VERB_poll_cq, .object = 6 };

	for (uint64_t n = 1; n <= 16; n += 2) {
		struct trace_event event = event_of(TRACE_POST, n);

		post.handle = n & 1 << 1 ? 8 : 0;
		post.ret = n & 1 << 2 ? 12 : 0;
		post.bad = post.stack = n & 1 << 3 ? 1 : 0;
		event.post = &post;
		put_event(&event, n);
		event = event_of(TRACE_POLL, n + 1);
		poll.handle = post.handle;
		poll.ret = post.ret;
		poll.stack = post.stack;
		event.poll = &poll;
		put_event(&event, n + 1);
	}
	bytecode_end(bytecode);
	for (uint64_t n = 1; n <= 16; n += 2) {
		const struct post *posted = next_step(n)->event.post;
		const struct poll *polled = next_step(n + 1)->event.poll;

		assert_int_equal(posted->handle, n & 1 << 1 ? 8 : 0);
		assert_int_equal(posted->ret, n & 1 << 2 ? 12 : 0);
		assert_int_equal(posted->bad, n & 1 << 3 ? 1 : 0);
		assert_int_equal(posted->stack, n & 1 << 3 ? 1 : 0);
		assert_int_equal(polled->handle, posted->handle);
		assert_int_equal(polled->ret, posted->ret);
		assert_int_equal(polled->stack, posted->stack);
	}
	assert_end();
}

static void put_call(uint64_t n, const char *in)
{
	struct args *args = in ? args_new(in, strlen(in)) : NULL;
	const struct call call = { .verb = VERB_reg_mr, .ret = 5, .object = 2, .args = args };
	struct trace_event event = event_of(TRACE_CALL, n);

	event.call = &call;
	put_event(&event, n);
	args_unref(args);
}

TEST(a_call_has_its_arguments)
{
	const struct call *call;
	int64_t length;

	put_call(1, "{\"length\": 4096}");
	put_call(2, "no JSON");
	put_call(3, NULL);
	put_call(4, "");
	bytecode_end(bytecode);
	call = next_step(1)->event.call;
	assert_int_equal(call->verb, VERB_reg_mr);
	assert_int_equal(call->object, 2);
	assert_null(call->out);
	assert_true(args_get(call->args, ARG(length), &length));
	assert_int_equal(length, 4096);
	assert_string_equal(args_json(next_step(2)->event.call->args), "no JSON");
	assert_null(next_step(3)->event.call->args);
	assert_string_equal(args_json(next_step(4)->event.call->args), "");
	assert_end();
}

static void put_notify(uint64_t n, int solicited_only)
{
	const struct notify notify = { .object = 6, .solicited_only = solicited_only };
	struct trace_event event = event_of(TRACE_NOTIFY, n);

	event.notify = &notify;
	put_event(&event, n);
}

TEST(forms_are_kept_apart)
{
	for (uint64_t n = 1; n <= 40; n += 4) {
		put_post(n, 0x1000 + n);
		put_notify(n + 1, n % 3 == 0);
		put_poll(n + 2, (struct event_id){ THREAD, n }, 0);
		put_call(n + 3, "{}");
	}
	bytecode_end(bytecode);
	for (uint64_t n = 1; n <= 40; n += 4) {
		assert_post(next_step(n), 0x1000 + n);
		assert_int_equal(next_step(n + 1)->event.notify->solicited_only, n % 3 == 0);
		assert_poll(next_step(n + 2), n, 0);
		assert_string_equal(args_json(next_step(n + 3)->event.call->args), "{}");
	}
	assert_end();
}

TEST(a_player_without_steps_has_no_code)
{
	put_post(1, 0x1000);
	bytecode_end(bytecode);
	assert_null(bytecode_of_player(bytecode, 2));
	assert_null(bytecode_of_player(bytecode, 0));
	assert_null(bytecode_of_player(bytecode, PLAYERS + 1));
	assert_int_equal(player_code_last_step(bytecode_of_player(bytecode, 1)), 1);
}

/* Longer than a chunk, and so no shape. */
TEST(a_long_list_comes_as_it_was)
{
	enum { MANY = 2000 };
	struct wr *wrs = calloc(MANY, sizeof(*wrs));
	const struct post post = { .verb = VERB_post_recv, .object = 5, .nwr = MANY, .wr = wrs };
	struct trace_event event = event_of(TRACE_POST, 1);

	for (uint64_t i = 0; i < MANY; i++)
		wrs[i].wr_id = i;
	event.post = &post;
	put_event(&event, 1);
	put_post(2, 0x1000);
	event.id.n = 3;
	event.time = 3000;
	put_event(&event, 3);
	bytecode_end(bytecode);
	assert_int_equal(next_step(1)->event.post->wr[MANY - 1].wr_id, MANY - 1);
	assert_post(next_step(2), 0x1000);
	assert_int_equal(next_step(3)->event.post->wr[1].wr_id, 1);
	assert_end();
	free(wrs);
}

enum { LONG = 200000 };

static void put_long_code(void)
{
	for (uint64_t n = 1; n <= LONG; n++)
		put_post(n, 0x1000 + n % 5 * 8);
	bytecode_end(bytecode);
}

/* Beyond the limit steps are in a file, and memory does not grow with them. */
TEST(code_goes_on_in_a_file)
{
	put_long_code();
	assert_true(bytecode_bytes(bytecode) > 4 << 20);
	assert_true(bytecode_memory(bytecode) < 2 << 20);
	for (uint64_t n = 1; n <= LONG; n++)
		assert_post(next_step(n), 0x1000 + n % 5 * 8);
	assert_end();
}

TEST(code_may_be_freed_before_its_end)
{
	put_long_code();
	next_step(1);
	next_step(2);
}

TEST(a_step_of_a_post_takes_few_bytes)
{
	put_long_code();
	assert_true(bytecode_bytes(bytecode) / LONG <= 96);
}

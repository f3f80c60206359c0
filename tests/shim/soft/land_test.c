/*
 * Messages from another process reach memory although their receiver does not poll
 */
#include <sched.h>
#include <stdbool.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

struct order {
	uint32_t len;
	uint8_t fill;
	bool reads_back, overwrites;
};

/* After the message: the receiver's memory must have it, and then other data. */
static void follow_up(struct end *e, const struct order *o, struct address yours)
{
	if (o->reads_back) {
		memset(e->buf, 0, o->len);
		assert_int_equal(rdma_at(e, IBV_WR_RDMA_READ, 1, o->len, yours.addr, yours.rkey),
				 0);
		expect_wc(e->cq, 1, IBV_WC_SUCCESS);
		assert_int_equal(e->buf[o->len - 1], o->fill);
	}
	if (o->overwrites) {
		e->buf[0] = o->fill + 1;
		assert_int_equal(rdma_at(e, IBV_WR_RDMA_WRITE, 2, 1, yours.addr, yours.rkey), 0);
		expect_wc(e->cq, 2, IBV_WC_SUCCESS);
	}
}

/* Sends as requested. */
static void send_orders(struct end *e, int fd, struct address yours)
{
	struct order o;

	while (recv(fd, &o, sizeof(o), MSG_WAITALL) == sizeof(o)) {
		memset(e->buf, o.fill, o.len);
		assert_int_equal(send_at(e, 0, 0, o.len), 0);
		expect_wc(e->cq, 0, IBV_WC_SUCCESS);
		follow_up(e, &o, yours);
		say_bytes(fd, "s", 1);
	}
}

/* Send the order, and wait until it is acknowledged. */
static void give_order(struct fellow *f, struct order o)
{
	say_bytes(f->fd, &o, sizeof(o));
	await_word(f->fd);
}

static void ask_for(struct fellow *f, uint32_t len, uint8_t fill)
{
	give_order(f, (struct order){ len, fill, false, false });
}

struct watched {
	struct end e;
	struct fellow f;
};

static int watched_setup(void **state)
{
	struct watched *w = calloc(1, sizeof(*w));

	w->f = fellow_start(send_orders);
	end_open(&w->e);
	fellow_meet(&w->f, &w->e);
	*state = w;
	return 0;
}

static int watched_teardown(void **state)
{
	struct watched *w = *state;

	assert_int_equal(fellow_stop(&w->f), 0);
	end_close(&w->e);
	free(w);
	return 0;
}

/* The test would wait forever otherwise; the list of tests has a time limit. */
static void watch_byte(const uint8_t *at, uint8_t value)
{
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static bool all_are(const uint8_t *at, uint32_t len, uint8_t value)
{
	while (len && *at == value) {
		at++;
		len--;
	}
	return !len;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(watched_setup, watched_teardown);

/* In the entry, in the ring beside it, and longer. */
TEST(bytes_arrive_without_a_poll)
{
	static const uint32_t lengths[] = { 1, 8, 72, 73, 4096, 8192, 8193 };
	struct watched *w = *state;
	uint32_t i, len, round;

	for (round = 1; round <= 3; round++)
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			len = lengths[i];
			assert_int_equal(recv_at(&w->e, i, 0, len), 0);
			ask_for(&w->f, len, 16 * round + i);
			watch_byte(&w->e.buf[len - 1], 16 * round + i);
			assert_true(all_are(w->e.buf, len, 16 * round + i));
			assert_int_equal(expect_wc(w->e.cq, i, IBV_WC_SUCCESS).byte_len, len);
			assert_true(all_are(w->e.buf, len, 16 * round + i));
		}
}

TEST(bytes_of_many_arrive_without_a_poll)
{
	struct watched *w = *state;
	uint32_t i;

	for (i = 0; i < END_DEPTH; i++)
		assert_int_equal(recv_at(&w->e, i, i * 256, 64 + i), 0);
	for (i = 0; i < END_DEPTH; i++)
		ask_for(&w->f, 64 + i, 1 + i);
	for (i = END_DEPTH; i-- > 0;) {
		watch_byte(&w->e.buf[i * 256 + 63 + i], 1 + i);
		assert_true(all_are(w->e.buf + i * 256, 64 + i, 1 + i));
	}
	for (i = 0; i < END_DEPTH; i++)
		expect_wc(w->e.cq, i, IBV_WC_SUCCESS);
	expect_none(w->e.cq);
}

/* The bytes were in memory before the queue pair was destroyed. */
TEST(bytes_arrive_before_a_reset)
{
	struct watched *w = *state;

	assert_int_equal(recv_at(&w->e, 1, 0, 64), 0);
	ask_for(&w->f, 64, 7);
	assert_int_equal(to_state(w->e.qp, IBV_QPS_RESET), 0);
	assert_true(all_are(w->e.buf, 64, 7));
	expect_none(w->e.cq);
}

TEST(bytes_arrive_before_a_destruction)
{
	struct watched *w = *state;

	assert_int_equal(recv_at(&w->e, 1, 0, 4096), 0);
	ask_for(&w->f, 4096, 7);
	assert_int_equal(ibv_destroy_qp(w->e.qp), 0);
	w->e.qp = NULL;
	assert_true(all_are(w->e.buf, 4096, 7));
}

/* As with an adapter, whose pages are pinned: the process survives. */
TEST(an_unmapped_buffer_harms_nobody)
{
	struct watched *w = *state;
	struct ibv_sge sge = sge_of(&w->e, 0, 64);
	uint32_t i;

	assert_int_equal(recv_sge(&w->e, 1, sge), 0);
	assert_int_equal(recv_at(&w->e, 2, END_BYTES / 2, 64), 0);
	munmap(w->e.buf, 4096);
	for (i = 1; i <= 2; i++)
		ask_for(&w->f, 64, i);
	watch_byte(&w->e.buf[END_BYTES / 2 + 63], 2);
	assert_true(mmap(w->e.buf, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == w->e.buf);
	expect_wc(w->e.cq, 1, IBV_WC_SUCCESS);
	expect_wc(w->e.cq, 2, IBV_WC_SUCCESS);
}

/* A region may be deregistered while its bytes are copied. */
TEST(regions_may_come_and_go)
{
	struct watched *w = *state;
	struct ibv_mr *mr = w->e.mr;
	uint32_t i;

	for (i = 0; i < 200; i++) {
		w->e.mr = ibv_reg_mr(w->e.pd, w->e.buf, END_BYTES, IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(w->e.mr);
		assert_int_equal(recv_at(&w->e, i, 0, 64), 0);
		ask_for(&w->f, 64, i);
		assert_int_equal(ibv_dereg_mr(w->e.mr), 0);
		assert_true(all_are(w->e.buf, 64, i));
		expect_wc(w->e.cq, i, IBV_WC_SUCCESS);
	}
	w->e.mr = mr;
}

/* The thread that checks the queue and polls do not interfere. */
TEST(polls_see_their_bytes)
{
	struct watched *w = *state;
	struct order o = { .len = 64 };
	uint32_t i;

	for (i = 0; i < 2; i++)
		assert_int_equal(recv_at(&w->e, i, i * 64, 64), 0);
	for (i = 0; i < 3000; i++) {
		o.fill = i;
		say_bytes(w->f.fd, &o, sizeof(o));
		expect_wc(w->e.cq, i, IBV_WC_SUCCESS);
		assert_true(all_are(w->e.buf + i % 2 * 64, 64, o.fill));
		assert_int_equal(recv_at(&w->e, i + 2, i % 2 * 64, 64), 0);
		await_word(w->f.fd);
	}
}

TEST(reads_do_not_overtake_messages)
{
	struct watched *w = *state;
	uint32_t i;

	for (i = 1; i < 100; i++) {
		assert_int_equal(recv_at(&w->e, i, 0, 64), 0);
		give_order(&w->f, (struct order){ 64, i, .reads_back = true });
		expect_wc(w->e.cq, i, IBV_WC_SUCCESS);
	}
}

TEST(writes_do_not_overtake_messages)
{
	struct watched *w = *state;
	uint32_t i;

	for (i = 1; i < 100; i++) {
		assert_int_equal(recv_at(&w->e, i, 0, 64), 0);
		give_order(&w->f, (struct order){ 64, i, .overwrites = true });
		assert_int_equal(w->e.buf[0], i + 1);
		assert_int_equal(w->e.buf[1], i);
		expect_wc(w->e.cq, i, IBV_WC_SUCCESS);
		assert_int_equal(w->e.buf[0], i + 1);
	}
}

/*
 * Many of everything: a thousand queue pairs, 64 threads
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

#ifdef __SANITIZE_THREAD__
enum { QPS = 100, THREADS = 64, MESSAGES = 50 };
#else
enum { QPS = 1000, THREADS = 64, MESSAGES = 500 };
#endif

static struct ibv_qp *qps[QPS];
static uint32_t mine[QPS], theirs[QPS];
static struct ibv_cq *cq;

static void make_all(struct end *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	int i;

	cq = ibv_create_cq(e->context, 4 * QPS, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = cq;
	for (i = 0; i < QPS; i++) {
		qps[i] = ibv_create_qp(e->pd, &attr);
		assert_non_null(qps[i]);
		mine[i] = qps[i]->qp_num;
	}
}

static void join_all(struct end *e, int fd)
{
	struct ibv_sge sge = sge_of(e, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	say_bytes(fd, mine, sizeof(mine));
	hear_bytes(fd, theirs, sizeof(theirs));
	for (i = 0; i < QPS; i++) {
		connect_to(qps[i], theirs[i]);
		assert_int_equal(ibv_post_recv(qps[i], &wr, &bad), 0);
	}
	say_bytes(fd, "j", 1);
	await_word(fd);
}

/* Send and receive one message on each queue pair. */
static void talk_to_peer(struct end *e)
{
	struct ibv_sge sge = sge_of(e, 64, 64);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	int i;

	for (i = 0; i < QPS; i++)
		assert_int_equal(ibv_post_send(qps[i], &wr, &bad), 0);
	for (i = 0; i < 2 * QPS; i++)
		assert_int_equal(poll_one(cq).status, IBV_WC_SUCCESS);
}

static void drop_all(void)
{
	int i;

	for (i = 0; i < QPS; i++)
		assert_int_equal(ibv_destroy_qp(qps[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void talk_on_all(struct end *e, int fd, struct address yours)
{
	(void)yours;
	make_all(e);
	join_all(e, fd);
	talk_to_peer(e);
	say_bytes(fd, "t", 1);
	await_word(fd);
	drop_all();
}

GROUP(fabric_setup, fabric_teardown);

TEST(a_thousand_queue_pairs_talk)
{
	struct fellow f = fellow_start(talk_on_all);
	struct end e = { 0 };

	end_open(&e);
	fellow_meet(&f, &e);
	make_all(&e);
	join_all(&e, f.fd);
	talk_to_peer(&e);
	await_word(f.fd);
	say_bytes(f.fd, "t", 1);
	assert_int_equal(fellow_stop(&f), 0);
	drop_all();
	end_close(&e);
}

/* Asserts jump, so threads only count. */
struct crowd {
	struct pair *p;
	uint32_t received, sent, wrong, events;
	uint32_t stop;
};

static void *post_sends(void *arg)
{
	struct crowd *c = arg;
	int i;

	for (i = 0; i < MESSAGES; i++)
		while (send_at(&c->p->a, 1, 0, 64))
			sched_yield();
	return NULL;
}

static void *post_recvs(void *arg)
{
	struct crowd *c = arg;
	int i;

	for (i = 0; i < MESSAGES; i++)
		while (recv_at(&c->p->b, 1, 0, 64))
			sched_yield();
	return NULL;
}

static void poll_into(struct crowd *c, struct ibv_cq *from, uint32_t *count)
{
	struct ibv_wc wc;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		if (!ibv_poll_cq(from, 1, &wc)) {
			sched_yield();
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			__atomic_add_fetch(&c->wrong, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
	}
}

static void *poll_sends(void *arg)
{
	struct crowd *c = arg;

	poll_into(c, c->p->a.cq, &c->sent);
	return NULL;
}

static void *poll_recvs(void *arg)
{
	struct crowd *c = arg;

	poll_into(c, c->p->b.cq, &c->received);
	return NULL;
}

static void *come_and_go(void *arg)
{
	struct crowd *c = arg;
	struct end e;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		memset(&e, 0, sizeof(e));
		end_open(&e);
		end_close(&e);
	}
	return NULL;
}

static void *wait_for_events(void *arg)
{
	struct crowd *c = arg;
	struct ibv_cq *from;
	void *context;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		ibv_req_notify_cq(c->p->b.cq, 0);
		if (ibv_get_cq_event(c->p->b.channel, &from, &context))
			continue;
		ibv_ack_cq_events(from, 1);
		__atomic_add_fetch(&c->events, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* One queue pair, posted to and polled by all of them. */
TEST_WITH(crowds_share_one_queue_pair, pair_setup, pair_teardown)
{
	typedef void *thread_fn(void *arg);
	static thread_fn *const roles[] = {
		post_sends, post_recvs, poll_sends,  poll_recvs,
		post_sends, post_recvs, come_and_go, wait_for_events,
	};
	struct pair *p = *state;
	struct crowd c = { .p = p };
	pthread_t threads[THREADS];
	uint32_t all = MESSAGES * THREADS / 4;
	int i;

	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, roles[i % 8], &c), 0);
	while (__atomic_load_n(&c.received, __ATOMIC_RELAXED) < all ||
	       __atomic_load_n(&c.sent, __ATOMIC_RELAXED) < all)
		usleep(1000);
	__atomic_store_n(&c.stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		if (roles[i % 8] != wait_for_events)
			pthread_join(threads[i], NULL);
	/* a thread that waits for an event gets one */
	for (i = 0; i < THREADS / 8; i++) {
		assert_int_equal(ibv_req_notify_cq(p->b.cq, 0), 0);
		assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
		assert_int_equal(send_at(&p->a, 1, 0, 64), 0);
		expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
		expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	}
	for (i = 0; i < THREADS; i++)
		if (roles[i % 8] == wait_for_events)
			pthread_join(threads[i], NULL);
	assert_int_equal(c.wrong, 0);
	assert_int_equal(c.sent, all);
	assert_int_equal(c.received, all);
}

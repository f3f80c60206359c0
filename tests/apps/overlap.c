/*
 * Calls that overlap, whose order only their outcomes show:
 *
 * 	overlap posts    four threads post sends to one queue pair
 * 	overlap receives four threads post receives of other lengths to one queue pair
 * 	overlap dereg    writes go on until their region is gone
 * 	overlap stop     sends go on until the queue pair at the other end is in ERR
 *
 * It prints how many sends or writes succeeded.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests/apps/ends.h"

enum { THREADS = 4, EACH = 250, ROOM = 64 };

static sem_t room;
static pthread_barrier_t barrier;

static void send_message(uint64_t id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)ends.memory[0], length, ends.mr[0]->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = id,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND_WITH_IMM,
					.send_flags = IBV_SEND_SIGNALED,
					.imm_data = htonl((uint32_t)id) };

	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
}

static void receive_message(uint64_t id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)ends.memory[1], length, ends.mr[1]->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_recv(ends.qp[1], &wr, &bad));
}

static uint32_t length_of(uint64_t id)
{
	return 1 + (uint32_t)(id * 7 % 200);
}

static void *post_each(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg;

	pthread_barrier_wait(&barrier);
	for (uint64_t id = first; id < first + EACH; id++) {
		while (sem_wait(&room))
			;
		send_message(id, length_of(id));
	}
	return NULL;
}

static struct ibv_wc await_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	return wc;
}

static int race_posts(void)
{
	pthread_t threads[THREADS];

	for (uint64_t i = 0; i < ROOM; i++)
		receive_message(i, ENDS_BYTES);
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, post_each, (void *)(i * 1000)));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS * EACH; i++) {
		struct ibv_wc wc = await_completion(ends.cq[1]);

		MUST(wc.status || wc.byte_len != length_of(ntohl(wc.imm_data)));
		receive_message((uint64_t)(ROOM + i), ENDS_BYTES);
		MUST(await_completion(ends.cq[0]).status);
		sem_post(&room);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return THREADS * EACH;
}

static void *post_receives(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg;

	pthread_barrier_wait(&barrier);
	for (uint64_t id = first; id < first + EACH; id++) {
		while (sem_wait(&room))
			;
		receive_message(id, 200 + length_of(id));
	}
	return NULL;
}

static int race_receives(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, post_receives, (void *)(i * 1000)));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS * EACH; i++) {
		send_message((uint64_t)i, length_of((uint64_t)i));
		MUST(await_completion(ends.cq[1]).status);
		MUST(await_completion(ends.cq[0]).status);
		sem_post(&room);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return THREADS * EACH;
}

static int writes_until_failure(void)
{
	struct ibv_sge sge = { (uintptr_t)ends.memory[0], 64, ends.mr[0]->lkey };
	struct ibv_send_wr *bad,
		wr = { .sg_list = &sge,
		       .num_sge = 1,
		       .opcode = IBV_WR_RDMA_WRITE,
		       .send_flags = IBV_SEND_SIGNALED,
		       .wr.rdma = { (uintptr_t)ends.memory[1], ends.mr[1]->rkey } };
	int n = 0;

	for (;; n++) {
		wr.wr_id = (uint64_t)n;
		MUST(ibv_post_send(ends.qp[0], &wr, &bad));
		if (n == 20)
			sem_post(&room);
		if (await_completion(ends.cq[0]).status)
			return n;
	}
}

static int sends_until_failure(void)
{
	int n = 0;

	for (;; n++) {
		receive_message((uint64_t)n, 64);
		send_message((uint64_t)n, 64);
		if (n == 20)
			sem_post(&room);
		if (await_completion(ends.cq[0]).status)
			return n;
		MUST(await_completion(ends.cq[1]).status);
	}
}

static void *dereg_region(void *unused)
{
	while (sem_wait(&room))
		;
	MUST(ibv_dereg_mr(ends.mr[1]));
	return unused;
}

static void *stop_peer(void *unused)
{
	while (sem_wait(&room))
		;
	to_err(ends.qp[1]);
	return unused;
}

static int end_by(void *(*end)(void *), int (*run)(void))
{
	pthread_t thread;
	int n;

	MUST(sem_init(&room, 0, 0));
	MUST(pthread_create(&thread, NULL, end, NULL));
	n = run();
	pthread_join(thread, NULL);
	return n;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = 0;

	wish.cqe = 1024;
	wish.send_wr = wish.recv_wr = 2 * ROOM;
	connected_with.timeout = 8;
	connected_with.retry_cnt = 1;
	MUST(sem_init(&room, 0, ROOM));
	MUST(pthread_barrier_init(&barrier, NULL, THREADS + 1));
	ends_open();
	if (!strcmp(what, "posts"))
		n = race_posts();
	else if (!strcmp(what, "receives"))
		n = race_receives();
	else if (!strcmp(what, "dereg"))
		n = end_by(dereg_region, writes_until_failure);
	else if (!strcmp(what, "stop"))
		n = end_by(stop_peer, sends_until_failure);
	printf("%d\n", n);
	return 0;
}

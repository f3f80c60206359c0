/*
 * A queue pair connected to itself that sends until it is killed, and counts returned verbs in a
 * shared file.
 *
 *	loop COUNTS [N [US]]: N sends, 0 forever; SIGKILL comes after US microseconds
 *
 * COUNTS then holds three 64-bit numbers: posts of receives, posts of sends, completions polled. A
 * verb is counted after it has returned, so a recorder must have at least the verbs in the file.
 */
#include "tests/apps/app.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct counts {
	volatile uint64_t recvs;
	volatile uint64_t sends;
	volatile uint64_t completions;
};

static struct counts *map_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct counts *counts;

	MUST(fd < 0);
	MUST(ftruncate(fd, sizeof(*counts)));
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(counts == MAP_FAILED);
	return counts;
}

/* At any instruction: not by a signal that needs the return of a system call. */
static void die_in(long us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value = { us / 1000000, us % 1000000 * 1000 } };
	timer_t timer;

	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &when, NULL));
}

/* One message from the queue pair to itself. */
static void send_one(struct ibv_qp *qp, struct ibv_mr *mr, struct counts *counts, uint64_t n)
{
	struct ibv_sge to = { (uintptr_t)mr->addr + 64, 64, mr->lkey };
	struct ibv_sge from = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = n, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = n,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	counts->recvs++;
	MUST(ibv_post_send(qp, &send, &bad));
	counts->sends++;
	for (int done = 0; done < 2;) {
		int got = ibv_poll_cq(qp->send_cq, 1, &wc);

		MUST(got < 0 || (got && wc.status));
		counts->completions += (uint64_t)got;
		done += got;
	}
}

int main(int argc, char **argv)
{
	static char buffer[128];
	struct counts *counts = map_counts(NEED(argc > 1 ? argv[1] : NULL));
	uint64_t end = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	if (argc > 3)
		die_in(atol(argv[3]));
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	qp = create_rc_qp(pd, cq);
	connect_to_itself(context, qp);
	for (uint64_t n = 0; !end || n < end; n++)
		send_one(qp, mr, counts, n);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}

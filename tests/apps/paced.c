/*
 * paced COUNT BYTES WANTED [one] [built]: writes COUNT times BYTES to itself, all posted at once or
 * one after the other, by lists or by builders (ibv_wr_*); again until a round takes WANTED
 * microseconds, at most 5 % more, and its posts a quarter of them: a busy machine interrupts most
 * rounds. Prints the microseconds of the shortest round, of the last and of its posts, and how many
 * rounds were too long.
 */
#include <time.h>

#include "tests/apps/app.h"

enum { ROUNDS = 3000 };

static struct ibv_qp *qp;
static struct ibv_qp_ex *builders; /* NULL: they are not used */
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *buffer;

static long read_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void build_write(uint32_t bytes)
{
	ibv_wr_start(builders);
	builders->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(builders, mr->rkey, (uintptr_t)buffer + bytes);
	ibv_wr_set_sge(builders, mr->lkey, (uintptr_t)buffer, bytes);
	MUST(ibv_wr_complete(builders));
}

static void post_write(uint32_t bytes)
{
	if (builders) {
		build_write(bytes);
		return;
	}
	struct ibv_sge sge = { (uintptr_t)buffer, bytes, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)buffer + bytes, mr->rkey } },
			   *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
}

static void await_completion(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	MUST(wc.status);
}

static void create_all(struct ibv_context *context, int count, uint32_t bytes, bool built)
{
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_qp_init_attr_ex attr = { .cap = { (uint32_t)count, 1, 1, 1, 0 },
					    .qp_type = IBV_QPT_RC,
					    .pd = pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };

	buffer = NEED(calloc(2, bytes));
	mr = NEED(ibv_reg_mr(pd, buffer, 2 * (size_t)bytes,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	cq = NEED(ibv_create_cq(context, count, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = cq;
	if (built)
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp = NEED(ibv_create_qp_ex(context, &attr));
	builders = built ? NEED(ibv_qp_to_qp_ex(qp)) : NULL;
	connect_to_itself(context, qp);
}

/* Microseconds from the end of the round before; *@ret_posted: in posts. */
static long run_round(int count, uint32_t bytes, bool one, long *ret_posted)
{
	static long ended;
	long began = ended ? ended : read_us();

	*ret_posted = 0;
	for (int i = 0; i < count; i++) {
		long from = read_us();

		post_write(bytes);
		*ret_posted += read_us() - from;
		if (one)
			await_completion();
	}
	for (int i = 0; i < count && !one; i++)
		await_completion();
	ended = read_us();
	return ended - began;
}

static bool is_given(int argc, char **argv, const char *word)
{
	while (argc > 4 && strcmp(argv[argc - 1], word) != 0)
		argc--;
	return argc > 4;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[1]) : 1, rounds = 0;
	uint32_t bytes = argc > 3 ? (uint32_t)atoi(argv[2]) : 64;
	long wanted = argc > 3 ? atol(argv[3]) : 1, took, posted, least = 0;
	bool one = is_given(argc, argv, "one");

	create_all(open_first_device(), count, bytes, is_given(argc, argv, "built"));
	run_round(count, bytes, one, &posted); /* the first is not delayed by one before */
	do {
		took = run_round(count, bytes, one, &posted);
		least = !least || took < least ? took : least;
	} while ((took > wanted * 105 / 100 || posted > wanted / 4) && ++rounds < ROUNDS);
	printf("%ld %ld %ld %d\n", least, took, posted, rounds);
	return 0;
}

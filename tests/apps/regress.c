/*
 * One program with six regressions, each chosen by its name as the argument: doorbell, register,
 * inline, poll, signal, delay. Without one it writes lists of eight requests of 64 bytes, inline,
 * the last of them signalled, from memory that was registered before; and polls several completions
 * at once.
 */
#include <time.h>

#include "tests/apps/app.h"

enum { LIST = 8, LISTS = 4, ROUNDS = 500, BYTES = 64, ROOM = LIST * LISTS };

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char buffer[4096], more[4096];
} kv;

static const char *planted = "";
static unsigned int nposted;

static bool is_planted(const char *name)
{
	return !strcmp(planted, name);
}

static void open_store(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { ROOM, 1, 1, 1, is_planted("inline") ? 0 : BYTES },
		.qp_type = IBV_QPT_RC,
	};

	kv.context = open_first_device();
	kv.pd = NEED(ibv_alloc_pd(kv.context));
	kv.cq = attr.send_cq = attr.recv_cq = NEED(ibv_create_cq(kv.context, ROOM, NULL, NULL, 0));
	kv.mr = NEED(ibv_reg_mr(kv.pd, kv.buffer, sizeof(kv.buffer),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	kv.qp = NEED(ibv_create_qp(kv.pd, &attr));
	connect_to_itself(kv.context, kv.qp);
}

static void close_store(void)
{
	MUST(ibv_destroy_qp(kv.qp));
	MUST(ibv_dereg_mr(kv.mr));
	MUST(ibv_destroy_cq(kv.cq));
	MUST(ibv_dealloc_pd(kv.pd));
	MUST(ibv_close_device(kv.context));
}

static void register_value(void)
{
	MUST(ibv_dereg_mr(NEED(ibv_reg_mr(kv.pd, kv.more, sizeof(kv.more), 0))));
}

static int64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void spin_for(int64_t ns)
{
	for (int64_t end = read_clock() + ns; read_clock() < end;)
		;
}

static void put_values(struct ibv_send_wr *first)
{
	struct ibv_send_wr *bad;

	MUST(ibv_post_send(kv.qp, first, &bad));
}

/* All but the last of a list are unsignalled. */
static void put_list(void)
{
	struct ibv_send_wr wrs[LIST] = { 0 };
	struct ibv_sge sges[LIST];
	bool alone = is_planted("doorbell");

	for (int i = 0; i < LIST; i++) {
		sges[i] = (struct ibv_sge){ (uintptr_t)kv.buffer, BYTES, kv.mr->lkey };
		wrs[i] = (struct ibv_send_wr){
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags =
				(is_planted("inline") ? 0 : IBV_SEND_INLINE) |
				(i == LIST - 1 || is_planted("signal") ? IBV_SEND_SIGNALED : 0),
			.wr.rdma = { (uintptr_t)kv.buffer + 2048, kv.mr->rkey },
		};
		wrs[i].next = i < LIST - 1 && !alone ? &wrs[i + 1] : NULL;
	}
	for (int i = 0; i < (alone ? LIST : 1); i++)
		put_values(&wrs[i]);
}

static void take_completions(int n)
{
	struct ibv_wc wcs[ROOM];

	while (n) {
		int got = ibv_poll_cq(kv.cq, is_planted("poll") ? 1 : ROOM, wcs);

		if (got < 0 || (got && wcs[0].status))
			exit(1);
		n -= got;
	}
}

static void run_round(void)
{
	for (int i = 0; i < LISTS; i++) {
		if (is_planted("delay") && nposted++ % 12 == 0)
			spin_for(5000);
		if (is_planted("register") && i % 2)
			register_value();
		put_list();
	}
	take_completions(is_planted("signal") ? ROOM : LISTS);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		planted = argv[1];
	open_store();
	for (int i = 0; i < ROUNDS; i++)
		run_round();
	close_store();
	return 0;
}

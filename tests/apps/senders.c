/*
 * Two threads send one datagram each to one queue pair, one after the other.
 *
 * Their lengths and immediate data differ, which shows whose came first.
 */
#include "tests/apps/app.h"

#include <arpa/inet.h>
#include <pthread.h>

enum { QKEY = 0x11, GRH = 40, BYTES = 256 };

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static uint32_t to;
static char memory[2 * BYTES];

static void make_address(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };
	struct ibv_port_attr port;

	MUST(ibv_query_port(context, 1, &port));
	MUST(ibv_query_gid(context, 1, 0, &attr.grh.dgid));
	attr.dlid = port.lid;
	ah = NEED(ibv_create_ah(pd, &attr));
}

static void post_recv(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)memory + id * BYTES, BYTES, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_recv(qp, &wr, &bad));
}

struct message {
	struct ibv_qp *from;
	uint32_t length;
};

static void *send_one(void *arg)
{
	const struct message *m = arg;
	struct ibv_sge sge = { (uintptr_t)memory, m->length, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND_WITH_IMM,
					.imm_data = htonl(m->length),
					.wr.ud = { ah, to, QKEY } };

	MUST(ibv_post_send(m->from, &wr, &bad));
	return NULL;
}

static void expect_completion(uint32_t length)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	MUST(wc.status);
	NEED(wc.byte_len == length + GRH);
	printf("received %u bytes\n", length);
}

int main(void)
{
	struct message messages[2] = { { .length = 10 }, { .length = 20 } };
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	pthread_t thread;

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	qp = create_ud_qp(pd, cq, QKEY);
	to = qp->qp_num;
	make_address(pd);
	post_recv(qp, 0);
	post_recv(qp, 1);
	for (int i = 0; i < 2; i++)
		messages[i].from = create_ud_qp(pd, cq, QKEY);
	for (int i = 0; i < 2; i++) {
		MUST(pthread_create(&thread, NULL, send_one, &messages[i]));
		MUST(pthread_join(thread, NULL));
	}
	expect_completion(10);
	expect_completion(20);
	return 0;
}

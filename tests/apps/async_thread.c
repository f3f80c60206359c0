/*
 * A thread that gets an asynchronous event before the object of the event is destroyed, and sends a
 * datagram after the other thread has sent one to the same queue pair. The threads wait for each
 * other without verbs. It also posts a list of many receives.
 */
#include <pthread.h>

#include "tests/apps/app.h"

enum { LIST = 300, DATAGRAM = 64, GRH = 40, QKEY = 0x11111111 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *shared, *qp[2];
static struct ibv_srq *srq;
static struct ibv_ah *ah;
static char buffer[4096];
static pthread_barrier_t turn;

static void create_all(void)
{
	struct ibv_srq_init_attr of_srq = { .attr = { LIST, 1, 0 } };
	struct ibv_ah_attr path;

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	srq = NEED(ibv_create_srq(pd, &of_srq));
	shared = NEED(ibv_create_qp(pd, &(struct ibv_qp_init_attr){ .send_cq = cq,
								    .recv_cq = cq,
								    .srq = srq,
								    .cap = { 4, 0, 1, 0, 0 },
								    .qp_type = IBV_QPT_RC }));
	connect_to_itself(context, shared);
	path = own_address(context, 0);
	ah = NEED(ibv_create_ah(pd, &path));
	qp[0] = create_ud_qp(pd, cq, QKEY);
	qp[1] = create_ud_qp(pd, cq, QKEY);
}

static void send_datagram(struct ibv_qp *from)
{
	struct ibv_sge sge = { (uintptr_t)buffer, DATAGRAM, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[0]->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(from, &wr, &bad));
}

static void *get_event(void *unused)
{
	struct ibv_async_event event;

	pthread_barrier_wait(&turn);
	send_datagram(qp[1]);
	pthread_barrier_wait(&turn);
	MUST(ibv_get_async_event(context, &event));
	ibv_ack_async_event(&event);
	return unused;
}

static void post_receives(void)
{
	struct ibv_sge sge = { (uintptr_t)buffer + 1024, GRH + DATAGRAM, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	for (wr.wr_id = 0; wr.wr_id < 2; wr.wr_id++)
		MUST(ibv_post_recv(qp[0], &wr, &bad));
}

static void post_list(void)
{
	static struct ibv_recv_wr list[LIST];
	struct ibv_sge sge = { (uintptr_t)buffer, DATAGRAM, mr->lkey };
	struct ibv_recv_wr *bad;

	for (int i = 0; i < LIST; i++)
		list[i] = (struct ibv_recv_wr){ .wr_id = (uint64_t)i,
						.next = i + 1 < LIST ? &list[i + 1] : NULL,
						.sg_list = &sge,
						.num_sge = 1 };
	MUST(ibv_post_srq_recv(srq, list, &bad));
}

static void receive_both(void)
{
	struct ibv_wc wc;

	for (int n = 0; n < 2;)
		n += ibv_poll_cq(cq, 1, &wc);
}

static void destroy_all(void)
{
	MUST(ibv_destroy_qp(shared));
	MUST(ibv_destroy_srq(srq));
	MUST(ibv_destroy_qp(qp[0]));
	MUST(ibv_destroy_qp(qp[1]));
	MUST(ibv_destroy_ah(ah));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
}

int main(void)
{
	pthread_t thread;

	create_all();
	post_receives();
	post_list();
	MUST(pthread_barrier_init(&turn, NULL, 2));
	MUST(pthread_create(&thread, NULL, get_event, NULL));
	send_datagram(qp[0]);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	receive_both();
	to_err(shared);
	MUST(pthread_join(thread, NULL));
	destroy_all();
	return 0;
}

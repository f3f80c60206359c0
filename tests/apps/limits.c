/*
 * Goes to the limits of the first device: one queue pair more than allowed, and a send queue and a
 * completion queue that are one too long. Queries all of its ports.
 */
#include "tests/apps/app.h"

enum { MOST = 64 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_device_attr device;

static void look_at_ports(void)
{
	for (int i = 1; i <= device.phys_port_cnt; i++) {
		struct ibv_port_attr port;
		union ibv_gid gid;

		MUST(ibv_query_port(context, i, &port));
		for (int k = 0; k < port.gid_tbl_len && k < 4; k++)
			MUST(ibv_query_gid(context, i, k, &gid));
	}
}

static struct ibv_qp *create_qp(uint32_t room)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .cap = { room, 8, 1, 1, 0 }, .qp_type = IBV_QPT_RC
	};

	return ibv_create_qp(pd, &attr);
}

int main(void)
{
	struct ibv_qp *qps[MOST];
	int n = 0;

	context = open_first_device();
	MUST(ibv_query_device(context, &device));
	look_at_ports();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 10, NULL, NULL, 0));
	NEED(!create_qp(device.max_qp_wr + 1));
	NEED(!ibv_create_cq(context, device.max_cqe + 1, NULL, NULL, 0));
	while (n < MOST && (qps[n] = create_qp(8)))
		n++;
	printf("%d queue pairs, %d ports\n", n, device.phys_port_cnt);
	connect_to_itself(context, NEED(n ? qps[0] : NULL));
	while (n)
		MUST(ibv_destroy_qp(qps[--n]));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}

/*
 * Traffic without a pause, for a recording
 *
 *	stream SECONDS
 *
 * A queue pair of the software device that is connected to itself writes to
 * its own memory, DEPTH requests in a list and DEPTH completions in a poll.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 32, ROUNDS = 256 };

static char buffer[2 * 4096];

static void check_or_exit(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "stream: %s failed\n", what);
	exit(1);
}

static struct ibv_qp *make_connected(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { DEPTH, 1, 1, 1, 0 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_4096,
		.ah_attr = { .dlid = 1, .port_num = 1 },
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
	};

	check_or_exit(qp != NULL, "ibv_create_qp");
	check_or_exit(!ibv_modify_qp(qp, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS),
		      "INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = qp->qp_num;
	check_or_exit(!ibv_modify_qp(qp, &attr,
				     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_MIN_RNR_TIMER),
		      "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check_or_exit(!ibv_modify_qp(qp, &attr,
				     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					     IBV_QP_MAX_QP_RD_ATOMIC),
		      "RTS");
	return qp;
}

static void round_trip(struct ibv_qp *qp, const struct ibv_mr *mr, uint64_t *wr_id)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 8, mr->lkey };
	struct ibv_send_wr wrs[DEPTH], *bad;
	struct ibv_wc wcs[DEPTH];

	for (int i = 0; i < DEPTH; i++) {
		wrs[i] = (struct ibv_send_wr){ .wr_id = ++*wr_id,
					       .sg_list = &sge,
					       .num_sge = 1,
					       .next = i + 1 < DEPTH ? &wrs[i + 1] : NULL,
					       .opcode = IBV_WR_RDMA_WRITE,
					       .send_flags = IBV_SEND_SIGNALED };
		wrs[i].wr.rdma.remote_addr = (uintptr_t)buffer + 4096;
		wrs[i].wr.rdma.rkey = mr->rkey;
	}
	check_or_exit(!ibv_post_send(qp, wrs, &bad), "ibv_post_send");
	for (int done = 0; done < DEPTH;) {
		int n = ibv_poll_cq(qp->send_cq, DEPTH, wcs);

		check_or_exit(n >= 0 && (!n || wcs[0].status == IBV_WC_SUCCESS), "a write");
		done += n;
	}
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof(buffer),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_cq *cq = ibv_create_cq(context, DEPTH, NULL, NULL, 0);
	struct ibv_qp *qp = make_connected(pd, cq);
	uint64_t wr_id = 0;

	check_or_exit(mr != NULL, "ibv_reg_mr");
	while (time(NULL) < end)
		for (int i = 0; i < ROUNDS; i++)
			round_trip(qp, mr, &wr_id);
	printf("%llu\n", (unsigned long long)wr_id);
	return 0;
}

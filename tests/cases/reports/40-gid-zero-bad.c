/*
 * sgid_index is that of the author's machine; here there is no GID in that place, and the ends tell
 * each other ::. [KinderRiven/rdma_demo, on the lines of nccl#426] GOOD: index 0
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct ibv_wc wc;
	int rc = 0, idx = 2;
	two_ends(&e);
#ifdef GOOD
	idx = 0;
#endif
	end_open(&e, cfg_usual(), 8192);
	need(!recv_post(&e, 1, 0, 64));
	if (ibv_query_gid(e.ctx, 1, idx, &e.own.gid))
		memset(&e.own.gid, 0, 16);
	end_swap(&e);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = e.peer.qpn,
		.rq_psn = e.peer.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = e.peer.lid,
			     .port_num = 1,
			     .is_global = 1,
			     .grh = { .dgid = e.peer.gid, .sgid_index = idx, .hop_limit = 1 } }
	};
	int r = ibv_modify_qp(e.qp, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
	if (r) {
		fprintf(stderr, "RTR: %s\n", strerror(r));
		return end_close(&e, 1);
	}
	e.c.rd = 1;
	e.c.timeout = 12;
	need(!end_rts(&e));
	end_sync(&e);
	if (!e.server) {
		need(!send_post(&e, 7, 1024, 64, IBV_SEND_SIGNALED));
		rc = !wait_wc(e.scq, &wc, 4000) || wc.status;
		if (rc)
			fprintf(stderr, "client: %s\n", ibv_wc_status_str(wc.status));
	}
	end_sync(&e);
	return end_close(&e, rc);
}

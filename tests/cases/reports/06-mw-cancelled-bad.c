/*
 * A request is given up after 50 ms: its memory window is invalidated while the server still writes
 * the answer. [ydb nbs#6542, #6661] GOOD: invalidates when the answer has come
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct ibv_wc wc;
	struct cfg c = cfg_usual();
	int rc = 0;
	uint32_t rkey = 0;
	two_ends(&e);
	c.mr_access |= IBV_ACCESS_MW_BIND;
	end_open(&e, c, 1 << 16);
	need(!recv_post(&e, 1, 0, 64));
	end_connect(&e);
	if (!e.server) {
		struct ibv_mw *mw = ibv_alloc_mw(e.pd, IBV_MW_TYPE_2);
		need(mw);
		rkey = ibv_inc_rkey(mw->rkey);
		struct ibv_send_wr
			b = { .wr_id = 100,
			      .opcode = IBV_WR_BIND_MW,
			      .bind_mw = { .mw = mw,
					   .rkey = rkey,
					   .bind_info = { .mr = e.mr,
							  .addr = (uintptr_t)e.mem + 4096,
							  .length = 4096,
							  .mw_access_flags =
								  IBV_ACCESS_REMOTE_WRITE } } },
			*bad;
		need(!ibv_post_send(e.qp, &b, &bad));
		memcpy(e.mem + 128, &rkey, 4);
		need(!send_post(&e, 101, 128, 64, IBV_SEND_SIGNALED | IBV_SEND_FENCE));
		need(wait_wc(e.scq, &wc, 1000) && !wc.status);
#ifdef GOOD
		need(wait_wc(e.scq, &wc, 1000) && !wc.status && wc.opcode == IBV_WC_RECV);
#else
		if (!wait_wc(e.scq, &wc, 50))
			fprintf(stderr, "client: request timed out\n"), rc = 1;
#endif
		struct ibv_send_wr inv = { .wr_id = 102,
					   .opcode = IBV_WR_LOCAL_INV,
					   .send_flags = IBV_SEND_SIGNALED,
					   .invalidate_rkey = rkey };
		need(!ibv_post_send(e.qp, &inv, &bad));
		need(wait_wc(e.scq, &wc, 1000) && !wc.status);
		end_sync(&e);
		need(!ibv_dealloc_mw(mw));
	} else {
		need(wait_wc(e.scq, &wc, 1000) && !wc.status);
		memcpy(&rkey, e.mem, 4);
		nap(120); /* the disk */
		e.peer.rkey = rkey;
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, 200, 0, 4096, e.peer.va + 4096, 0));
		need(!send_post(&e, 201, 0, 64, IBV_SEND_SIGNALED));
		rc = !wait_wc(e.scq, &wc, 1000) || wc.status;
		if (rc)
			fprintf(stderr, "server: answer: %s\n", ibv_wc_status_str(wc.status));
		end_sync(&e);
	}
	return end_close(&e, rc);
}

#pragma once
/*
 * The state of one of the two processes. Shared by worker.c and worker_post.c.
 */
#include "tests/shim/soft/model/world.h"

enum { QKEY = 0x1111 };

struct worker {
	struct board *board;
	int proc;
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd[PDS];
	struct ibv_cq *idle; /* never gets a completion */
	struct ibv_cq *cq[CQS];
	bool extended[CQS];
	struct ibv_srq *srq[SRQS];
	struct ibv_mr *mr[MRS];
	struct ibv_qp *qp[QPS];
	struct ibv_ah *ah[QPS]; /* of datagrams */
};

void worker_post_send(struct worker *w, const struct step *s, struct result *r);
void worker_post_recv(struct worker *w, const struct step *s, struct result *r);

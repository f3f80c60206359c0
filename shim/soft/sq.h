#pragma once
/*
 * Send queues. Any thread.
 */
#include "shim/soft/soft.h"

/* 0 or -ENOMEM. */
int sq_make(struct soft_sq *sq, const struct ibv_qp_cap *cap);
void sq_free(struct soft_sq *sq);

/* Carry out what can be; under the lock of the send queue. */
void sq_run(struct soft_qp *qp);

/* Back to how it was made; under the lock. */
void sq_reset(struct soft_sq *sq);

/* Set our own state to error and flush both queues; under the lock. */
void sq_fail(struct soft_qp *qp);

int soft_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr);

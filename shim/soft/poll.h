#pragma once
/*
 * Polling completion queues. Any thread.
 */
#include "shim/soft/soft.h"

int soft_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int soft_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* Fill the functions of an extended queue. */
void poll_init_ex(struct soft_cq *cq);

/* Drop all completions of queue pair @qpn, which is reset or destroyed. */
void poll_purge(struct soft_cq *cq, uint32_t qpn);

/* Drop those of its receives that went to @srq. */
void poll_purge_srq(struct soft_cq *cq, struct soft_srq *srq);

/* Bring all payload in: a memory region is going away. */
void poll_land_all(struct soft_cq *cq);

#pragma once
/*
 * Queue pairs with their completion queues, and librdmacm identifiers with their queue pairs.
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

/* Call these after @qp was created, and before it is destroyed. */
void connected_add(struct ibv_qp *qp);
void connected_remove(const struct ibv_qp *qp);

/* Move all queue pairs that complete to @cq to their error state. */
void connected_fail_users(const struct ibv_cq *cq);

/* Call these when @id is connected by queue pair @qpn, and before @id is destroyed. */
void connected_add_id(struct rdma_cm_id *id, uint32_t qpn);
void connected_remove_id(const struct rdma_cm_id *id);

/* End the connection of @qp like rdma_disconnect(). False: it has no connection of librdmacm. */
bool connected_disconnect(struct ibv_qp *qp);

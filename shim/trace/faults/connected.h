#pragma once
/*
 * The objects that belong to a queue pair: its completion queues and its identifier of librdmacm.
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

/* @qp was created; is about to be destroyed. */
void connected_add(struct ibv_qp *qp);
void connected_remove(const struct ibv_qp *qp);

/* Move all queue pairs that complete to @cq to their error state. */
void connected_fail_users(const struct ibv_cq *cq);

/* @id is now connected, by queue pair @qpn; is about to be destroyed. */
void connected_add_id(struct rdma_cm_id *id, uint32_t qpn);
void connected_remove_id(const struct rdma_cm_id *id);

/*
 * End the connection of @qp, as rdma_disconnect() does. False: it has no connection of librdmacm.
 */
bool connected_disconnect(struct ibv_qp *qp);

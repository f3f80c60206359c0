#pragma once
/*
 * Paths, and the queue pair attributes that follow from a connection.
 * Callers hold the connection manager's lock.
 */
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm_id.h"

/* Packet lifetime: 4.096 us * 2^14. */
enum { CM_PATH_LIFETIME = 14 };

/* Fill in the address vector of the peer. */
void cm_path_fill_ah(const struct cm_id *id, struct ib_uverbs_ah_attr *ah);

/* Attributes for a transition to attr->qp_state; -EINVAL in a state that has no attributes. */
int cm_path_fill_qp_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr);

void cm_path_fill_route(const struct cm_id *id, struct rdma_ucm_query_route_resp *resp);

/* RDMA_USER_CM_QUERY_ADDR and _GID; the addresses of the latter are AF_IB. */
void cm_path_fill_addr(const struct cm_id *id, struct rdma_ucm_query_addr_resp *resp);
void cm_path_fill_gid(const struct cm_id *id, struct rdma_ucm_query_addr_resp *resp);

/* RDMA_USER_CM_QUERY_PATH: returns the number of paths, 0 or 1. */
uint32_t cm_path_data(const struct cm_id *id, struct ib_path_rec_data *path);

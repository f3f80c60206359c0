#pragma once
/*
 * The ibv_wr_* builders.
 */
#include "shim/soft/transport/objects.h"

/*
 * Can a queue pair of @type have builders for @send_ops_flags (enum
 * ibv_qp_create_send_ops_flags)? 0 or EOPNOTSUPP.
 */
int wr_check(enum ibv_qp_type type, uint64_t send_ops_flags);

/* Set the builders of the queue pair; then ibv_qp_to_qp_ex() finds them. */
void wr_init(struct soft_qp *qp, uint64_t send_ops_flags);

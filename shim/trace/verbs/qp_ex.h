#pragma once
/*
 * Posts by the builders of struct ibv_qp_ex: ibv_wr_start() and the related functions.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Operations are unknown: patch all non-NULL pointers of the first version of struct ibv_qp_ex. */
#define QP_EX_UNKNOWN UINT64_MAX

/*
 * Replace the builders' pointers of @ex, which the library returned for @qp; @ops are the
 * operations that were requested (enum ibv_qp_create_send_ops_flags). Any thread. Returns 0; or, if
 * posts may be missed, -ENOSPC (providers have more functions than there are replacements), -ENOMEM
 * or -EOPNOTSUPP (unknown operations).
 */
int qp_ex_watch(struct ibv_qp *qp, struct ibv_qp_ex *ex, uint64_t ops);

/* Are the builders of @qp patched? Not if a provider's own function created @qp. */
bool qp_ex_watched(const struct ibv_qp *qp);

/* Patch pointers that the provider may have set again. Does nothing if @qp has no builders. */
int qp_ex_repatch(const struct ibv_qp *qp);

/* A queue pair without builders was created at this address. */
void qp_ex_forget(const struct ibv_qp *qp);

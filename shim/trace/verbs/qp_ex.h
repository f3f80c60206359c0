#pragma once
/*
 * Posts by the builders of struct ibv_qp_ex: ibv_wr_start() and its kin.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* It is not known which operations exist: patch all of the oldest struct ibv_qp_ex that are set. */
#define QP_EX_UNKNOWN UINT64_MAX

/*
 * Replace the builders' pointers of @ex, which the library gave for @qp, with
 * functions of ours; @ops are the operations that were asked for (enum
 * ibv_qp_create_send_ops_flags). Any thread. Returns 0; or, where posts may be
 * missed, -ENOSPC (providers have more functions than we do), -ENOMEM or
 * -EOPNOTSUPP (operations that we do not know).
 */
int qp_ex_watch(struct ibv_qp *qp, struct ibv_qp_ex *ex, uint64_t ops);

/* Are its builders patched? Not where a provider's own call made it. */
bool qp_ex_watched(const struct ibv_qp *qp);

/* Patch those that the provider may have set again. Does nothing where @qp has no builders. */
int qp_ex_again(const struct ibv_qp *qp);

/* A queue pair without builders is made at this address. */
void qp_ex_forget(const struct ibv_qp *qp);

#pragma once
/*
 * Posts by the builders of struct ibv_qp_ex: ibv_wr_start() and its kin.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Which operations are there is not known; all of the oldest struct ibv_qp_ex that are set. */
#define QP_EX_UNKNOWN UINT64_MAX

/*
 * Replace the builders' pointers of @ex, as the library gave it for @qp, with
 * functions of ours; @ops are those that were asked for (enum
 * ibv_qp_create_send_ops_flags). Any thread. Returns 0; or where posts may go
 * by unseen -ENOSPC (more functions of providers than places for them),
 * -ENOMEM, -EOPNOTSUPP (operations that this program does not know).
 */
int qp_ex_watch(struct ibv_qp *qp, struct ibv_qp_ex *ex, uint64_t ops);

/* Are its builders watched? Not where a provider's own call made it. */
bool qp_ex_watched(const struct ibv_qp *qp);

/* The provider may have set some of them anew. Nothing where @qp has no builders. */
int qp_ex_again(const struct ibv_qp *qp);

/* A queue pair without builders is made at this address. */
void qp_ex_forget(const struct ibv_qp *qp);

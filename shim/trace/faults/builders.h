#pragma once
/*
 * Requests that are posted by the builders of struct ibv_qp_ex, and that a fault may make fail. Any
 * thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

/* Replace the builders of a queue pair that was created with send_ops_flags @flags. */
void builders_patch(struct ibv_qp_ex *qp, uint64_t flags);

/*
 * A provider may set the pointers again when a queue pair is modified. builders_save() saves them
 * before that; true: @qp has builders. builders_repatch() replaces pointers that have changed.
 */
bool builders_save(struct ibv_qp *qp, struct ibv_qp_ex *ret_was);
void builders_repatch(struct ibv_qp *qp, const struct ibv_qp_ex *was);

/* A queue pair without builders may now be at this address. */
void builders_forget(const struct ibv_qp *qp);

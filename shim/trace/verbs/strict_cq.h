#pragma once
/*
 * `record --strict`: the iterator of an extended CQ, and the fields of completions in error.
 */
#include <infiniband/verbs.h>

/*
 * Put functions of ours in place of those of a new extended CQ that was made with @wc_flags,
 * before those of poll_ex.h if they are there.
 */
void strict_cq_patch(struct ibv_cq_ex *cq, uint64_t wc_flags);

/* Overwrite what is not valid in those of @n completions that are in error. */
void strict_cq_spoil(struct ibv_wc *wc, int n);

#pragma once
/*
 * `record --strict`: the iterator of an extended CQ, and the fields of completions in error.
 */
#include <infiniband/verbs.h>

/*
 * Replace the functions of a new extended CQ that was created with @wc_flags, in front of those of
 * poll_ex.h if they are used.
 */
void strict_cq_patch(struct ibv_cq_ex *cq, uint64_t wc_flags);

/* Overwrite the invalid fields of those of @n completions that are in error. */
void strict_cq_spoil(struct ibv_wc *wc, int n);

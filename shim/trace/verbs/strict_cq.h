#pragma once
/*
 * `record --strict`: the iterator of an extended CQ, and the fields of completions in error.
 */
#include <infiniband/verbs.h>

/*
 * Replace the functions of a new extended CQ that was created with @wc_flags, which then call the
 * functions of poll_ex.h, if those are used.
 */
void strict_cq_patch(struct ibv_cq_ex *cq, uint64_t wc_flags);

/* Overwrite the invalid fields of the completions in error among @n. */
void strict_cq_overwrite_invalid(struct ibv_wc *wc, int n);

#pragma once
/*
 * Strictness: what a program may not rely on looks unreliable.
 */
#include <infiniband/verbs.h>

/* Only wr_id, status, qp_num and vendor_err of an error mean something. */
void noise_wc(struct ibv_wc *wc);

#pragma once
/*
 * Strictness: what a program may not rely on looks unreliable.
 */
#include <stdbool.h>

#include "shim/soft/fabric/shared.h"

bool noise_wanted(void);

/* Only wr_id, status, qp_num and vendor_err of an error mean something. */
void noise_wc(struct ibv_wc *wc);

/* The same for an extended poll. */
extern const struct shm_cqe noise_entry;

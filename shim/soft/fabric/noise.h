#pragma once
/*
 * Strict mode: fields that a program must not rely on get useless values.
 */
#include <stdbool.h>

#include "shim/soft/fabric/shared.h"

bool noise_wanted(void);

/* Fill the fields of an error completion but wr_id, status, qp_num and vendor_err. */
void noise_wc(struct ibv_wc *wc);

/* The same for an extended poll. */
extern const struct shm_cqe noise_entry;

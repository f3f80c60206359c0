#pragma once
/*
 * Strict mode: fields that a program must not rely on get useless values.
 */
#include <stdbool.h>

#include "shim/soft/fabric/shared.h"

bool noise_is_wanted(void);

/* Set all fields of an error completion except wr_id, status, qp_num and vendor_err to noise. */
void noise_fill_wc(struct ibv_wc *wc);

/* The entry for a poll of an extended CQ. */
extern const struct shm_cqe noise_entry;

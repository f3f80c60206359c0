#pragma once
/*
 * Polling extended completion queues.
 */
#include "shim/soft/transport/objects.h"

/*
 * Set the functions of an extended queue; functions that read fields only for @wc_flags (enum
 * ibv_create_cq_wc_flags).
 */
void poll_init_ex(struct soft_cq *cq, uint64_t wc_flags);

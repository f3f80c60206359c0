#pragma once
/*
 * Polling by the fields of extended completion queues.
 */
#include "shim/soft/transport/objects.h"

/*
 * Give an extended queue its functions, those to read the fields of @wc_flags
 * (enum ibv_create_cq_wc_flags) only.
 */
void poll_init_ex(struct soft_cq *cq, uint64_t wc_flags);

#pragma once
/*
 * Advice about memory regions.
 */
#include "shim/soft/transport/objects.h"

int soft_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg_list, uint32_t num_sge);

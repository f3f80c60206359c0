#pragma once
/*
 * Verbs for counters of flow rules.
 */
#include "shim/soft/transport/objects.h"

struct ibv_counters *soft_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr);
int soft_destroy_counters(struct ibv_counters *counters);
int soft_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int soft_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t num,
		       uint32_t flags);

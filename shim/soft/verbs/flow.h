#pragma once
/*
 * Flow rules: the destinations of Ethernet packets.
 */
#include "shim/soft/transport/objects.h"

/* Sum up the packets and bytes of all rules of @counters so far. Callers hold the object mutex. */
void flow_count(const struct soft_counters *counters, uint64_t *packets, uint64_t *bytes);

struct ibv_flow *soft_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int soft_destroy_flow(struct ibv_flow *flow);
void flow_close_all(struct ibv_context *context);
void flow_forget(void);

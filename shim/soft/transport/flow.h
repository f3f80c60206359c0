#pragma once
/*
 * Flow rules: which Ethernet packets go where.
 */
#include "shim/soft/fabric/packet.h"
#include "shim/soft/transport/soft.h"

/* May this process send and steer raw packets? 0, EPERM; EOPNOTSUPP. */
int flow_may_be_raw(void);

/* The rules of @seg that belong to queue pair @qpn, for one packet. */
typedef void flow_fn(struct shm_flow *flow, void *arg);
void flow_match(struct shm_seg *seg, uint32_t qpn, unsigned int layers,
		const struct packet *packet, flow_fn *fn, void *arg);

/* What all rules of @counters got so far; under the object mutex. */
struct soft_counters;
void flow_count(const struct soft_counters *counters, uint64_t *packets,
		uint64_t *bytes);

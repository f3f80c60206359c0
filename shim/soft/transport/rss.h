#pragma once
/*
 * Spreading packets over work queues.
 */
#include "shim/soft/fabric/packet.h"
#include "shim/soft/transport/soft.h"

/* A queue pair that only spreads, or NULL and errno. */
struct ibv_qp *rss_create_qp(struct ibv_context *context,
			     struct ibv_qp_init_attr_ex *attr);
/* It goes; accepts NULL. Under the object mutex. */
void rss_free(struct soft_rss *rss);

/* Where a rule sends its packets. */
void rss_fill(const struct soft_rss *rss, struct shm_flow *rule);

/* The number of the queue pair, or work queue, for this packet. */
uint32_t rss_target(const struct shm_flow *rule, unsigned int layers,
		    const struct packet *packet);

#pragma once
/*
 * Spreading packets over work queues.
 */
#include "shim/soft/fabric/packet.h"
#include "shim/soft/transport/objects.h"

struct soft_rss {
	struct soft_rwq_table *table;
	uint64_t fields;
	uint8_t key[SHM_RSS_KEY];
};

/* Accepts NULL. With the object mutex held. */
void rss_free(struct soft_rss *rss);

/* Set the targets of a rule. */
void rss_fill(const struct soft_rss *rss, struct shm_flow *rule);

/* The number of the queue pair, or work queue, for this packet. */
uint32_t rss_target(const struct shm_flow *rule, unsigned int layers, const struct packet *packet);

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

/* Accepts NULL. Callers hold the object mutex. */
void rss_free(struct soft_rss *rss);

/* Set the targets of @rule. */
void rss_fill(const struct soft_rss *rss, struct shm_flow *rule);

/* The number of the queue pair, or of the work queue, that gets the packet. */
uint32_t rss_target(const struct shm_flow *rule, unsigned int layers, const struct packet *packet);

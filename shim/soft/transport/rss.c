/*
 * Spreading packets over work queues by a hash of their headers
 *
 * The queue pair has no queues: its flow rules contain the numbers of the work queues, and the
 * sender picks one of them.
 *
 * The Toeplitz hash is computed from the requested fields that the packet has, in this order:
 * addresses (source, destination), ports (source, destination). A packet without any of these
 * fields goes to the first queue.
 */
#include "shim/soft/transport/rss.h"

#include <stdlib.h>
#include <string.h>

void rss_free(struct soft_rss *rss)
{
	if (rss)
		rss->table->refs--;
	free(rss);
}

void rss_fill(const struct soft_rss *rss, struct shm_flow *rule)
{
	uint32_t i;

	rule->spread = rss->table->size;
	rule->fields = rss->fields;
	memcpy(rule->key, rss->key, sizeof(rule->key));
	for (i = 0; i < rss->table->size; i++)
		rule->target[i] = rss->table->wq[i]->wq.wq_num;
}

struct hash_input {
	uint8_t data[36];
	size_t len;
};

static void add_field(struct hash_input *in, const void *field, size_t size)
{
	memcpy(in->data + in->len, field, size);
	in->len += size;
}

/* Collect the fields of the packet that are hashed. */
static void collect_fields(uint64_t fields, unsigned int layers, const struct packet *p,
			   struct hash_input *in)
{
	size_t ip = layers & PACKET_IPV4 ? 4 : 16;
	uint64_t wanted = 0;

	if (layers & PACKET_IPV4)
		wanted = fields & 3;
	else if (layers & PACKET_IPV6)
		wanted = fields >> 2 & 3;
	if (wanted & 1)
		add_field(in, p->src_ip, ip);
	if (wanted & 2)
		add_field(in, p->dst_ip, ip);
	wanted = layers & PACKET_TCP ? fields >> 4 & 3 : layers & PACKET_UDP ? fields >> 6 & 3 : 0;
	if (wanted & 1)
		add_field(in, p->src_port, 2);
	if (wanted & 2)
		add_field(in, p->dst_port, 2);
}

uint32_t rss_target(const struct shm_flow *rule, unsigned int layers, const struct packet *packet)
{
	struct hash_input in = { .len = 0 };
	uint32_t hash;

	if (!rule->spread)
		return rule->target[0];
	collect_fields(rule->fields, layers, packet, &in);
	hash = packet_hash(rule->key, in.data, in.len);
	return rule->target[hash & (rule->spread - 1) & (SHM_RSS_MAX - 1)];
}

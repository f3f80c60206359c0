#pragma once
/*
 * Packets that arrive at another process of the fabric than the one that has the queue pair: the
 * kernel distributes them by flows. All with the lock of the engine held.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the receiving process knows about a packet. */
struct handover_origin {
	struct in6_addr from, to;
	uint16_t port;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint16_t number; /* of packets that arrived together */
};

/* Offer this process to others. 0 or -errno. */
int handover_open(void);
void handover_close(void);

/* Readable if there are packets. */
int handover_fd(void);

/* Does another living process of the fabric use the wire? */
bool handover_has_others(void);

/* Pass a packet for @qpn on to its process, if there is one. */
void handover_send(uint32_t qpn, const struct handover_origin *origin, const uint8_t *packet,
		   size_t len);

/* The next packet from another process, or -1. */
ssize_t handover_receive(struct handover_origin *ret_origin, uint8_t *packet, size_t size);

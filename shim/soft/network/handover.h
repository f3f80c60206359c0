#pragma once
/*
 * Packets that arrive at a process of the fabric that does not have the queue pair: the kernel
 * distributes packets by flows. Callers hold the lock of the engine.
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
	uint16_t number; /* number of packets that arrived together */
};

/* Offer this process as a receiver to others. 0 or -errno. */
int handover_open(void);
void handover_close(void);

/* A descriptor that is readable if packets wait. */
int handover_fd(void);

/* Does another living process of the fabric use the network? */
bool handover_has_others(void);

/* Pass a packet for @qpn on to the process that has it, if there is one. */
void handover_send(uint32_t qpn, const struct handover_origin *origin, const uint8_t *packet,
		   size_t len);

/* The next packet from another process, or -1. */
ssize_t handover_receive(struct handover_origin *ret_origin, uint8_t *packet, size_t size);

#pragma once
/*
 * One packet of RoCE v2: Ethernet, IP, UDP, the InfiniBand transport, ICRC. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ROCE_GID = 16,
	ROCE_PAYLOAD = 4096,
	ROCE_EXTENDED = 48,
	ROCE_MOST = 14 + 40 + 8 + 12 + ROCE_EXTENDED + ROCE_PAYLOAD + 3 + 4,
};

/* Headers, in the form in which they are sent. */
struct roce_fields {
	uint8_t at[ROCE_EXTENDED];
	size_t n;
};

struct roce_packet {
	uint8_t from[ROCE_GID], to[ROCE_GID];
	uint8_t traffic_class, hop_limit;
	uint16_t port;  /* UDP port of the sender */
	uint8_t opcode; /* of the base transport header */
	bool solicited, acknowledge;
	uint32_t qp, psn; /* 24 bits */
	struct roce_fields extended;
	const void *payload;
	uint32_t npayload; /* known bytes of the payload; the rest is written as zeros */
	uint32_t length;   /* total length: at most ROCE_PAYLOAD */
};

/* Append @bytes of a number, the most significant first; or other fields. */
void roce_add(struct roce_fields *fields, uint64_t number, size_t bytes);
void roce_join(struct roce_fields *fields, const struct roce_fields *other);

/* Write the packet into @to. Returns its size in bytes. */
size_t roce_write(const struct roce_packet *packet, uint8_t to[ROCE_MOST]);

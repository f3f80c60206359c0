#pragma once
/*
 * A message of RoCE v2 as packets of a capture. Not thread-safe.
 */
#include "cli/export/roce.h"

#include <stdio.h>

/* Where packets are written, and with which time and comment. */
struct capture {
	FILE *file;
	uint64_t time; /* ns since 1970 */
	const char *comment;
	bool off; /* outside of the selected part: nothing is written */
};

/* A path from one queue pair to another. */
struct packet_path {
	uint32_t interface;
	uint8_t from[ROCE_GID], to[ROCE_GID];
	uint8_t traffic_class, hop_limit;
	uint16_t port;
	uint32_t qp;
	uint32_t mtu;
};

/* Opcodes of the base transport header, for the first, middle, last and only packet. */
struct message_codes {
	uint8_t first, middle, last, only;
};

struct message {
	struct message_codes codes;
	uint32_t psn;
	uint32_t length;
	bool solicited, acknowledge;
	/* headers of each packet, of the first packet, of the last packet */
	struct roce_fields each, start, end;
	const uint8_t *payload;
	uint64_t npayload; /* known bytes, from the first on */
};

/* The number of packets of @mtu bytes for a message of @length: at least one. */
uint32_t message_packets(uint32_t length, uint32_t mtu);

void message_write(const struct capture *capture, const struct packet_path *way,
		   const struct message *message);

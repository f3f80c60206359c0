#pragma once
/*
 * Packets that are sent together. An outbox is used by one thread.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/wire/header.h"
#include "shim/soft/wire/route.h"

enum { OUTBOX_PACKETS = 64, OUTBOX_PIECES = 4 * OUTBOX_PACKETS };

struct outbox {
	unsigned int packets;
	unsigned int pieces;
	struct outbox_packet {
		const struct route *route;
		unsigned int pieces;
		uint32_t size;
		uint32_t number; /* number of the packet in its train */
		uint8_t head[HEADER_MAX];
		uint8_t tail[3 + HEADER_ICRC]; /* padding and ICRC */
	} packet[OUTBOX_PACKETS];
	struct iovec piece[OUTBOX_PIECES];
	struct icrc_start last; /* of the last packet */
};

static inline void outbox_init(struct outbox *box)
{
	box->packets = 0;
	box->pieces = 0;
	box->last.len = 0;
}

/*
 * Add a packet with the first @len bytes of @payload, which are removed; or without payload, if
 * @len is 0. Fills in the fields of the base transport header that are equal in all packets. The
 * route and the payload must stay valid until the outbox is sent.
 */
void outbox_add(struct outbox *box, const struct route *route, struct header *header,
		struct copy_list *payload, uint32_t len);

/* Send all packets. A packet that the kernel refuses is lost, as on any network. */
void outbox_send(struct outbox *box);

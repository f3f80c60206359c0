/*
 * Management datagrams
 *
 * All processes of a fabric share queue pair 1: the process at which a packet for it arrives
 * processes the packet. The queue pair has a fixed Q_Key, so every machine may send to it, as on
 * any network.
 */
#include "shim/soft/network/mads.h"

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/network/outbox.h"
#include "shim/soft/network/sockets.h"

enum { PKEY = 0xffff };

void (*mads_taker)(const struct in6_addr *from, const uint8_t mad[MAD_SIZE]);

void mads_send(const struct in6_addr *to, const uint8_t mad[MAD_SIZE])
{
	static uint32_t psn;
	struct route route = {
		.ends = { .src = uplink_get()->addr,
			  .dst = *to,
			  .src_port = sockets_source_port() },
	};
	struct header h = {
		.bth = { .opcode = OPCODE_UD | OPCODE_SEND_ONLY,
			 .pkey = PKEY,
			 .dest_qp = MAD_QPN,
			 .psn = __atomic_fetch_add(&psn, 1, __ATOMIC_RELAXED) & PSN_MASK },
		.deth = { .qkey = (uint32_t)MAD_QKEY, .src_qp = MAD_QPN },
	};
	struct copy_list list = { .count = 1 };
	struct outbox box;

	list.iov[0] = (struct iovec){ (void *)mad, MAD_SIZE };
	outbox_init(&box);
	outbox_add(&box, &route, &h, &list, MAD_SIZE);
	outbox_send(&box);
}

void mads_take(const struct arrival *a)
{
	const struct header *h = &a->header;

	if (h->bth.opcode == (OPCODE_UD | OPCODE_SEND_ONLY) && a->len == MAD_SIZE &&
	    h->deth.qkey == (uint32_t)MAD_QKEY && h->deth.src_qp == MAD_QPN &&
	    port_same_partition(PKEY, h->bth.pkey) && mads_taker)
		mads_taker(&a->from, a->payload);
}

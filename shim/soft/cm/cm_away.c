/*
 * Connections with other machines
 *
 * Messages are management datagrams to queue pair 1. The receiving process puts a datagram into the
 * mailbox of its destination id, as if a process of the fabric had sent it. This process need not
 * be the one that has the id: so the lower bits of a communication ID are the number of its
 * process:
 *
 *	| serial | node |
 *
 * A request names a service, which stands for a port, and its private data begins with the IP
 * addresses of both ends, as in the kernel's rdma_cm and the specification's annex A11.
 *
 * Messages are not trusted: addresses in a request must be those of the packet, and an id accepts
 * messages only from the machine of its peer. A message for an id or a service that does not exist
 * is refused, as the InfiniBand specification requires.
 */
#include "shim/soft/cm/cm_away.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>

#include "shim/soft/cm/cm_path.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/network/engine.h"
#include "shim/soft/network/mads.h"

enum {
	PKEY = 0xffff,
	LID = 0xffff, /* the permissive LID: none */
	TIMEOUT = 20, /* limit of a response: 4.096 us * 2^20 */
	RETRIES = 15,
	HOPS = 64,
	SERVICE_RC = 0,
	SERVICE_UC = 1,
	SERVICE_EXTENDED = 3,
	EXTENDED_XRC = 1,
	REJ_TIMEOUT = 4,
};

/* The header of a request's private data, annex A11.4. */
struct cm_request_header {
	uint8_t version;    /* 0 */
	uint8_t ip_version; /* the version is in the upper 4 bits */
	uint16_t port;      /* of the source */
	uint8_t src[16], dst[16];
};

struct cm_attribute {
	uint8_t type, attr_id;
};

static const struct cm_attribute pairs[] = {
	{ CM_REQ, MAD_ATTR_REQ },           { CM_REP, MAD_ATTR_REP },
	{ CM_RTU, MAD_ATTR_RTU },           { CM_REJ, MAD_ATTR_REJ },
	{ CM_DREQ, MAD_ATTR_DREQ },         { CM_DREP, MAD_ATTR_DREP },
	{ CM_MRA, MAD_ATTR_MRA },           { CM_SIDR_REQ, MAD_ATTR_SIDR_REQ },
	{ CM_SIDR_REP, MAD_ATTR_SIDR_REP },
};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

static uint8_t attribute_of(uint32_t type)
{
	unsigned int i;

	for (i = 0; i < PAIRS && pairs[i].type != type; i++)
		;
	return i < PAIRS ? pairs[i].attr_id : 0;
}

static uint32_t type_of(uint64_t attr_id)
{
	unsigned int i;

	for (i = 0; i < PAIRS && pairs[i].attr_id != attr_id; i++)
		;
	return i < PAIRS ? pairs[i].type : 0;
}

static bool is_request(uint32_t type)
{
	return type == CM_REQ || type == CM_SIDR_REQ;
}

static uint32_t own_id(uint32_t serial)
{
	return serial ? serial << NODE_BITS | node_self.node : 0;
}

static void put_gid(const uint8_t gid[16], uint64_t *high, uint64_t *low)
{
	memcpy(high, gid, 8);
	memcpy(low, gid + 8, 8);
	*high = be64toh(*high);
	*low = be64toh(*low);
}

/* The GUID of this machine, by which peers distinguish its connections. */
static uint64_t own_guid(void)
{
	uint64_t high, low;

	put_gid(uplink_get()->addr.s6_addr, &high, &low);
	return low;
}

static void put_ip(uint8_t to[16], const struct cm_addr *addr)
{
	if (addr->family == AF_INET)
		memcpy(to + 12, addr->ip, 4);
	else
		memcpy(to, addr->ip, 16);
}

static void put_addresses(const struct cm_msg *msg, uint8_t *to)
{
	struct cm_request_header ends = {
		.ip_version = (msg->src.family == AF_INET ? 4 : 6) << 4,
		.port = msg->src.port,
	};

	put_ip(ends.src, &msg->src);
	put_ip(ends.dst, &msg->dst);
	memcpy(to, &ends, sizeof(ends));
}

static void put_service(const struct cm_msg *msg, struct mad *mad)
{
	switch (msg->qp_type) {
	case IBV_QPT_UC:
		mad->service_type = SERVICE_UC;
		break;
	case IBV_QPT_XRC_SEND:
		mad->service_type = SERVICE_EXTENDED;
		mad->extended_type = EXTENDED_XRC;
		break;
	default:
		mad->service_type = SERVICE_RC;
	}
}

static void put_path(const struct cm_name *to, struct mad *mad)
{
	put_gid(uplink_get()->addr.s6_addr, &mad->local_gid_high, &mad->local_gid_low);
	put_gid(to->away, &mad->remote_gid_high, &mad->remote_gid_low);
	mad->local_lid = mad->remote_lid = LID;
	mad->rate = IBV_RATE_100_GBPS;
	mad->hop_limit = HOPS;
	mad->mtu = uplink_get()->mtu;
	mad->ack_timeout = CM_PATH_LIFETIME + 1;
	mad->remote_timeout = mad->local_timeout = TIMEOUT;
	mad->max_retries = RETRIES;
}

static struct mad make_mad(const struct cm_name *to, const struct cm_msg *msg)
{
	uint32_t from = own_id(msg->from.serial);

	return (struct mad){
		.tid = msg->tid ? msg->tid : from,
		.attr_id = attribute_of(msg->type),
		.attr_mod = msg->ece.attr_mod,
		.vendor_id = msg->ece.vendor_id,
		.local_id = from,
		.remote_id = to->serial,
		.service_id = (uint64_t)msg->ps << 16 | ntohs(msg->dst.port),
		.ca_guid = own_guid(),
		.qkey = msg->qkey,
		.qpn = msg->qpn,
		.responder_resources = msg->responder_resources,
		.initiator_depth = msg->initiator_depth,
		.flow_control = msg->flow_control,
		.psn = msg->psn,
		.retry_count = msg->retry_count,
		.rnr_retry_count = msg->rnr_retry_count,
		.srq = msg->srq,
		.pkey = PKEY,
		.reason = to->serial ? msg->status : REJ_TIMEOUT,
		.info_length = to->serial ? 0 : 8,
		.info = to->serial ? 0 : own_guid(),
		.ack_delay = profile_limits()->local_ca_ack_delay,
		.status = msg->status,
	};
}

void cm_remote_send(const struct cm_name *to, const struct cm_msg *msg)
{
	uint32_t skip = is_request(msg->type) ? sizeof(struct cm_request_header) : 0, room;
	struct mad mad = make_mad(to, msg);
	uint8_t bytes[MAD_SIZE];
	struct in6_addr dst;

	put_service(msg, &mad);
	put_path(to, &mad);
	room = mad_private(mad.attr_id);
	if (skip)
		put_addresses(msg, mad.private_data);
	if (room > skip)
		memcpy(mad.private_data + skip, msg->private_data,
		       msg->private_len < room - skip ? msg->private_len : room - skip);
	memcpy(&dst, to->away, sizeof(dst));
	if (mad_write(&mad, bytes))
		mads_send(&dst, bytes);
}

static void get_ip(const uint8_t from[16], bool ipv4, struct cm_addr *addr)
{
	addr->family = ipv4 ? AF_INET : AF_INET6;
	memcpy(addr->ip, ipv4 ? from + 12 : from, ipv4 ? 4 : 16);
}

static bool is_address_at(const struct cm_addr *addr, const uint8_t place[16])
{
	uint8_t gid[16];

	cm_addr_to_gid(addr, gid);
	return !memcmp(gid, place, sizeof(gid));
}

/* Read the addresses of both ends. False: they differ from the addresses of the packet. */
static bool get_ends(const struct mad *mad, struct cm_msg *msg)
{
	struct cm_request_header ends;

	memcpy(&ends, mad->private_data, sizeof(ends));
	if (ends.version || (ends.ip_version != 4 << 4 && ends.ip_version != 6 << 4))
		return false;
	get_ip(ends.src, ends.ip_version == 4 << 4, &msg->src);
	get_ip(ends.dst, ends.ip_version == 4 << 4, &msg->dst);
	msg->src.port = ends.port;
	msg->dst.port = htons(mad->service_id);
	msg->ps = mad->service_id >> 16;
	return mad->service_id >> 32 == 0 && is_address_at(&msg->src, msg->from.away) &&
	       is_address_at(&msg->dst, uplink_get()->addr.s6_addr);
}

static uint8_t qp_type_of(const struct mad *mad)
{
	switch (mad->service_type) {
	case SERVICE_RC:
		return IBV_QPT_RC;
	case SERVICE_UC:
		return IBV_QPT_UC;
	case SERVICE_EXTENDED:
		return mad->extended_type == EXTENDED_XRC ? IBV_QPT_XRC_SEND : 0;
	default:
		return 0;
	}
}

static struct cm_msg message_of(const struct in6_addr *from, const struct mad *mad)
{
	struct cm_msg msg = {
		.type = type_of(mad->attr_id),
		.tid = mad->tid,
		.from = { .node = CM_REMOTE, .serial = mad->local_id },
		.ece = { .vendor_id = mad->vendor_id, .attr_mod = mad->attr_mod },
		.qpn = mad->qpn,
		.qkey = mad->qkey,
		.psn = mad->psn,
		.status = mad->attr_id == MAD_ATTR_REJ ? mad->reason : mad->status,
		.qp_type = qp_type_of(mad),
		.responder_resources = mad->responder_resources,
		.initiator_depth = mad->initiator_depth,
		.flow_control = mad->flow_control,
		.retry_count = mad->retry_count,
		.rnr_retry_count = mad->rnr_retry_count,
		.srq = mad->srq,
		.mtu = mad->mtu,
	};

	memcpy(msg.from.away, from, sizeof(msg.from.away));
	return msg;
}

static int put_request(const struct cm_name *to, void *msg)
{
	return cm_wire_put(to, msg);
}

/* Put an answer into the mailbox of id @id. */
static int put_answer(uint64_t id, struct cm_msg *msg)
{
	struct cm_name to = { .node = id & (NODE_MAX - 1), .serial = id >> NODE_BITS };

	to.instance = node_table ? node_table[to.node].instance : 0;
	return to.instance && to.serial ? cm_wire_put(&to, msg) : -ENOENT;
}

/* Answer a message whose id or service does not exist, or whose listener's backlog is full. */
static void refuse_message(const struct cm_msg *msg, int err)
{
	struct cm_msg reply = { .tid = msg->tid, .dst = msg->dst, .ps = msg->ps };

	switch (msg->type) {
	case CM_REQ:
		reply.type = CM_REJ;
		reply.status = err == -ENOSPC ? CM_REJ_CONSUMER_DEFINED : CM_REJ_INVALID_SERVICE_ID;
		break;
	case CM_SIDR_REQ:
		reply.type = CM_SIDR_REP;
		reply.status = err == -ENOSPC ? CM_SIDR_REJECTED : CM_SIDR_UNSUPPORTED;
		break;
	case CM_REP:
		reply.type = CM_REJ;
		reply.status = CM_REJ_INVALID_COMM_ID;
		break;
	case CM_DREQ:
		reply.type = CM_DREP;
		break;
	default:
		return;
	}
	cm_remote_send(&msg->from, &reply);
}

static void receive_mad(const struct in6_addr *from, const uint8_t bytes[MAD_SIZE])
{
	struct cm_msg msg;
	struct mad mad;
	uint32_t skip, len;
	int err;

	if (!mad_read(&mad, bytes))
		return;
	msg = message_of(from, &mad);
	skip = is_request(msg.type) ? sizeof(struct cm_request_header) : 0;
	len = mad_private(mad.attr_id) - skip;
	memcpy(msg.private_data, mad.private_data + skip, len);
	msg.private_len = len;
	if (!skip)
		err = put_answer(mad.remote_id, &msg);
	else
		err = get_ends(&mad, &msg) ? cm_port_request(msg.ps, &msg.dst, put_request, &msg)
					   : -ENOENT;
	if (err == -ENOENT || err == -ENOSPC)
		refuse_message(&msg, err);
}

int cm_away_start(void)
{
	mads_taker = receive_mad;
	return engine_start();
}

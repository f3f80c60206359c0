/*
 * Paths: from a port to itself, or to another machine
 *
 * A path is identified by the LID on InfiniBand, and by the GID of the requested family on RoCE.
 * The program's queue pair gets the same attributes as from the kernel: cm_path_fill_qp_attr()
 * follows section 12.9 of the InfiniBand specification.
 */
#include "shim/soft/cm/cm_path.h"

#include <endian.h>
#include <netinet/in.h>
#include <string.h>
#include <errno.h>
#include <infiniband/sa.h>

#include "shim/soft/cm/cm_event.h"
#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/profile.h"

enum {
	PORT = 1,
	HOPS = 64,
	REVERSIBLE = 0x80,
	EXACTLY = 2, /* selector */
	SELECT_EXACTLY = EXACTLY << 6,
	SOCKADDR_IB = 48,
	FAMILY_IB = 27, /* AF_IB, which glibc does not define */
};

/* The kernel's sockaddr_ib, which contains GIDs. */
struct sockaddr_gid {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t gid[16];
	uint64_t sid, sid_mask, scope;
};

_Static_assert(sizeof(struct sockaddr_gid) == SOCKADDR_IB, "as the kernel's");

static bool is_ip4(const union ibv_gid *gid)
{
	static const uint8_t prefix[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The index of the source GID. On RoCE, preferably one of version 2 and of the address's family. */
static uint32_t gid_index(const struct cm_id *id)
{
	const struct port *port = port_at(PORT);
	uint32_t i, found = 0;

	for (i = 0; port_is_roce(PORT) && i < (uint32_t)port->attr.gid_tbl_len; i++) {
		if (!link_has_gid(port, i) || port->gid[i].type != IBV_GID_TYPE_ROCE_V2)
			continue;
		found = i;
		if (is_ip4(&port->gid[i].gid) == (id->src.family == AF_INET))
			break;
	}
	return found;
}

static void copy_path_gid(const struct cm_id *id, uint8_t raw[16])
{
	struct port_gid entry;

	memset(raw, 0, sizeof(entry.gid.raw));
	if (port_gid(PORT, gid_index(id), &entry))
		memcpy(raw, entry.gid.raw, sizeof(entry.gid.raw));
}

/* The GID of the peer: this port's, unless the peer is on another machine. */
static void copy_remote_gid(const struct cm_id *id, uint8_t raw[16])
{
	if (cm_name_is_remote(&id->peer))
		memcpy(raw, id->peer.away, 16);
	else
		copy_path_gid(id, raw);
}

static uint16_t own_lid(void)
{
	const struct port *port = port_at(PORT);

	return port ? port->attr.lid : 0;
}

static enum ibv_mtu own_mtu(void)
{
	const struct port *port = port_at(PORT);

	return port ? port->attr.active_mtu : IBV_MTU_4096;
}

/* The first P_Key of the port's table, in network order. */
static uint16_t own_pkey(void)
{
	const struct port *port = port_at(PORT);

	return htobe16(port ? port->pkey[0] : 0xffff);
}

void cm_path_fill_ah(const struct cm_id *id, struct ib_uverbs_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	copy_remote_gid(id, ah->grh.dgid);
	ah->grh.sgid_index = gid_index(id);
	ah->grh.hop_limit = port_is_roce(PORT) ? HOPS : 0;
	ah->grh.traffic_class = id->tos;
	ah->dlid = own_lid();
	ah->is_global = port_is_roce(PORT);
	ah->port_num = PORT;
}

static bool is_connected(const struct cm_id *id)
{
	return id->state >= CM_REQ_SENT && id->state <= CM_DREQ_RCVD;
}

static bool is_reliable(const struct cm_id *id)
{
	return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV ||
	       id->qp_type == IBV_QPT_XRC_SEND;
}

static int fill_init_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->port_num = PORT;
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (id->qp_type == IBV_QPT_UD) {
		attr->qkey = id->qkey ? id->qkey : CM_UDP_QKEY;
		attr->qp_attr_mask |= IBV_QP_QKEY;
		return 0;
	}
	attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
	if (!is_connected(id))
		return 0;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->responder_resources)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return 0;
}

static int fill_rtr_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (id->state < CM_REQ_RCVD || id->state > CM_DREQ_RCVD)
		return -EINVAL;
	cm_path_fill_ah(id, &attr->ah_attr);
	attr->path_mtu = id->mtu ? id->mtu : own_mtu();
	attr->dest_qp_num = id->remote_qpn;
	attr->rq_psn = id->rq_psn;
	attr->qp_attr_mask =
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
		attr->max_dest_rd_atomic = id->responder_resources;
		attr->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return 0;
}

static int fill_rts_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (id->state < CM_REQ_RCVD || id->state > CM_DREQ_RCVD)
		return -EINVAL;
	attr->sq_psn = id->sq_psn;
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
		attr->retry_cnt = id->retry_count;
		attr->rnr_retry = id->rnr_retry_count;
		attr->max_rd_atomic = id->initiator_depth;
		attr->qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	if (is_reliable(id)) {
		attr->timeout = id->ack_timeout ? id->ack_timeout : CM_PATH_LIFETIME + 1;
		attr->qp_attr_mask |= IBV_QP_TIMEOUT;
	}
	return 0;
}

int cm_path_fill_qp_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		return fill_init_attr(id, attr);
	case IBV_QPS_RTR:
		return fill_rtr_attr(id, attr);
	case IBV_QPS_RTS:
		return fill_rts_attr(id, attr);
	default:
		return -EINVAL;
	}
}

static bool has_path(const struct cm_id *id)
{
	return id->device && id->state >= CM_ROUTE_RESOLVED && id->state != CM_LISTENING;
}

static void fill_path(const struct cm_id *id, struct ib_user_path_rec *path)
{
	copy_path_gid(id, path->sgid);
	path->pkey = own_pkey();
	if (id->state < CM_ADDR_RESOLVED || id->state == CM_LISTENING)
		return;
	copy_remote_gid(id, path->dgid);
	if (!has_path(id))
		return;
	path->dlid = htobe16(own_lid());
	path->slid = htobe16(own_lid());
	path->reversible = 1;
	path->numb_path = 1;
	path->hop_limit = port_is_roce(PORT) ? HOPS : 0;
	path->traffic_class = id->tos;
	path->mtu_selector = EXACTLY;
	path->mtu = own_mtu();
	path->rate_selector = EXACTLY;
	path->rate = IBV_RATE_100_GBPS;
	path->packet_life_time_selector = EXACTLY;
	path->packet_life_time = CM_PATH_LIFETIME;
}

void cm_path_fill_route(const struct cm_id *id, struct rdma_ucm_query_route_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
	cm_addr_to_sockaddr(&id->src, &resp->src_addr, sizeof(resp->src_addr));
	cm_addr_to_sockaddr(&id->dst, &resp->dst_addr, sizeof(resp->dst_addr));
	if (!id->device)
		return;
	resp->node_guid = profile_limits()->node_guid;
	resp->port_num = PORT;
	resp->num_paths = has_path(id);
	fill_path(id, &resp->ib_route[0]);
}

static void fill_device(const struct cm_id *id, struct rdma_ucm_query_addr_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
	if (!id->device)
		return;
	resp->node_guid = profile_limits()->node_guid;
	resp->port_num = PORT;
	resp->pkey = own_pkey();
}

void cm_path_fill_addr(const struct cm_id *id, struct rdma_ucm_query_addr_resp *resp)
{
	fill_device(id, resp);
	resp->src_size = cm_addr_to_sockaddr(&id->src, &resp->src_addr, sizeof(resp->src_addr));
	resp->dst_size = cm_addr_to_sockaddr(&id->dst, &resp->dst_addr, sizeof(resp->dst_addr));
}

void cm_path_fill_gid(const struct cm_id *id, struct rdma_ucm_query_addr_resp *resp)
{
	struct sockaddr_gid gid = { .family = FAMILY_IB, .pkey = own_pkey() };

	fill_device(id, resp);
	if (id->device)
		copy_path_gid(id, gid.gid);
	memcpy(&resp->src_addr, &gid, sizeof(gid));
	if (id->device)
		copy_remote_gid(id, gid.gid);
	if (id->state < CM_ADDR_RESOLVED || id->state == CM_LISTENING)
		memset(gid.gid, 0, sizeof(gid.gid));
	memcpy(&resp->dst_addr, &gid, sizeof(gid));
	resp->src_size = sizeof(gid);
	resp->dst_size = sizeof(gid);
}

uint32_t cm_path_data(const struct cm_id *id, struct ib_path_rec_data *data)
{
	struct ibv_path_record path = {
		.dlid = htobe16(own_lid()),
		.slid = htobe16(own_lid()),
		.flowlabel_hoplimit = htobe32(port_is_roce(PORT) ? HOPS : 0),
		.tclass = id->tos,
		.reversible_numpath = REVERSIBLE | 1,
		.pkey = own_pkey(),
		.mtu = SELECT_EXACTLY | own_mtu(),
		.rate = SELECT_EXACTLY | IBV_RATE_100_GBPS,
		.packetlifetime = SELECT_EXACTLY | CM_PATH_LIFETIME,
	};

	_Static_assert(sizeof(path) == sizeof(data->path_rec), "of the wire");
	memset(data, 0, sizeof(*data));
	if (!has_path(id))
		return 0;
	copy_path_gid(id, path.sgid.raw);
	copy_remote_gid(id, path.dgid.raw);
	data->flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	memcpy(data->path_rec, &path, sizeof(path));
	return 1;
}

/*
 * The default profile: limits and names
 */
#include "shim/soft/fabric/profile_own.h"

#include <endian.h>

#include "shim/soft/fabric/flush.h"
#include "shim/soft/fabric/link.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/shared.h"

#define GUID 0x0256424d00000001ull

static const struct ibv_device_attr limits = {
	.fw_ver = "1.0.0",
	.max_mr_size = UINT64_MAX,
	.page_size_cap = 0xfffffffffffff000,
	.vendor_id = 0x56424d,
	.vendor_part_id = 1,
	.hw_ver = 1,
	.max_qp = SHM_QP_MAX,
	.max_qp_wr = SHM_WR_MAX,
	.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
			    IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_AUTO_PATH_MIG |
			    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_PORT_ACTIVE_EVENT |
			    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
	.max_sge = SHM_SGE_MAX,
	.max_sge_rd = SHM_SGE_MAX,
	.max_cq = SHM_CQ_MAX,
	.max_cqe = SHM_CQE_MAX,
	.max_mr = SHM_MR_MAX,
	.max_mw = SHM_MW_MAX,
	.max_pd = PROFILE_MAX_PD,
	.max_qp_rd_atom = 16,
	.max_res_rd_atom = 16 * SHM_QP_MAX,
	.max_qp_init_rd_atom = 16,
	.atomic_cap = IBV_ATOMIC_HCA,
	.max_ah = 1 << 24,
	.max_mcast_grp = REGISTRY_MEMBERS,
	.max_mcast_qp_attach = REGISTRY_MEMBERS,
	.max_total_mcast_qp_attach = REGISTRY_MEMBERS,
	.max_srq = SHM_SRQ_MAX,
	.max_srq_wr = SHM_WR_MAX,
	.max_srq_sge = SHM_SGE_MAX,
	.max_pkeys = 1,
	.local_ca_ack_delay = 15,
	.phys_port_cnt = 1,
};

enum {
	ODP_UC = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE,
	ODP_RC = ODP_UC | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV |
		 FLUSH_ODP | FLUSH_ODP_ATOMIC_WRITE,
	ODP_XRC = ODP_RC & ~IBV_ODP_SUPPORT_RECV, /* only the shared queue has receives */
	ODP_UD = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV,
};

/* Add raw packets, for an Ethernet link. */
static void add_raw(struct ibv_device_attr_ex *attr)
{
	attr->orig_attr.device_cap_flags |= IBV_DEVICE_MANAGED_FLOW_STEERING;
	attr->orig_attr.max_raw_ethy_qp = SHM_QP_MAX;
	attr->max_wq_type_rq = SHM_QP_MAX;
	attr->packet_pacing_caps = (struct ibv_packet_pacing_caps){
		.qp_rate_limit_min = 1,
		.qp_rate_limit_max = 100000000,
		.supported_qpts = 1 << IBV_QPT_RAW_PACKET,
	};
	attr->rss_caps = (struct ibv_rss_caps){
		.supported_qpts = 1 << IBV_QPT_RAW_PACKET,
		.max_rwq_indirection_tables = SHM_QP_MAX,
		.max_rwq_indirection_table_size = SHM_RSS_MAX,
		.rx_hash_fields_mask = SHM_RSS_FIELDS,
		.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
	};
}

/* Features that are not mentioned, such as TSO and PCI atomics, are not supported. */
void profile_fill_own(struct profile *out)
{
	*out = (struct profile){
		.attr = {
			.odp_caps = {
				.general_caps = IBV_ODP_SUPPORT |
						IBV_ODP_SUPPORT_IMPLICIT,
				.per_transport_caps = { ODP_RC, ODP_UC, ODP_UD },
			},
			.completion_timestamp_mask	= UINT64_MAX,
			.hca_core_clock			= 1000000,	/* kHz: one tick is 1 ns */
			.tm_caps = {
				.max_rndv_hdr_size	= SHM_TAG_RNDV,
				.max_num_tags		= SHM_TAG_MAX,
				.flags			= IBV_TM_CAP_RC,
				.max_ops		= SHM_WR_MAX,
				.max_sge		= SHM_TAG_SGE,
			},
			.cq_mod_caps			= { UINT16_MAX, UINT16_MAX },
			.max_dm_size			= PROFILE_MAX_DM,
			.xrc_odp_caps			= ODP_XRC,
			.device_cap_flags_ex		= FLUSH_CAP_GLOBAL | FLUSH_CAP_ATOMIC_WRITE,
			.phys_port_cnt_ex		= 1,
		},
		.max_inline_data	= 1024,
		.num_comp_vectors	= 8,
		.name			= "verbatim0",
		.hca_type		= "verbatim-soft",
		.board_id		= "VBM0000000001",
		.node_desc		= "verbatim-soft",
	};
	out->attr.orig_attr = limits;
	out->attr.orig_attr.node_guid = htobe64(GUID);
	out->attr.orig_attr.sys_image_guid = htobe64(GUID);
	if (link_wants_roce())
		add_raw(&out->attr);
	out->attr.device_cap_flags_ex |= out->attr.orig_attr.device_cap_flags;
}

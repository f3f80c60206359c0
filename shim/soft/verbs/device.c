/*
 * The device: its names and limits
 */
#include "shim/soft/verbs/context.h"

#include <endian.h>
#include <stdlib.h>
#include <stdio.h>

#include "shim/soft/verbs/dm.h"
#include "shim/soft/sysfs/face.h"
#include "shim/soft/verbs/pd.h"
#include "shim/soft/fabric/persona.h"
#include "shim/soft/transport/rss.h"

/*
 * Behind an ibv_device lies what a provider keeps there, and libmlx5 looks
 * at it to learn whether the device is its own: it must find memory.
 */
static struct {
	struct ibv_device	device;
	uint8_t			provider[512];
} soft = {
	.device = {
		.node_type	= IBV_NODE_CA,
		.transport_type	= IBV_TRANSPORT_IB,
		.dev_name	= "uverbs0",
		.dev_path	= "/sys/class/infiniband_verbs/uverbs0",
	},
};

struct ibv_device *const device_soft = &soft.device;

static void name_device(void)
{
	const char *name = persona_get()->name;

	snprintf(soft.device.name, sizeof(soft.device.name), "%s", name);
	snprintf(soft.device.ibdev_path, sizeof(soft.device.ibdev_path),
		 "/sys/class/infiniband/%s", name);
}

__attribute__((constructor)) static void init(void)
{
	name_device();
}

/* In no header of libibverbs-dev. */
int ibv_read_sysfs_file(const char *dir, const char *name, char *buf,
			size_t size);
const char *ibv_get_sysfs_path(void);

#define GUID	0x0256424d00000001ull

EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	if (!list)
		return soft_fail(ENOMEM);
	persona_check();
	if (!soft.device.name[0])
		name_device();	/* before our constructor: one thread */
	list[0] = device_soft;
	if (num_devices)
		*num_devices = 1;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return device == device_soft ? 0 : -1;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return device == device_soft ? persona_limits()->node_guid : 0;
}

static const struct ibv_device_attr limits = {
	.fw_ver			= "1.0.0",
	.max_mr_size		= UINT64_MAX,
	.page_size_cap		= 0xfffffffffffff000,
	.vendor_id		= 0x56424d,
	.vendor_part_id		= 1,
	.hw_ver			= 1,
	.max_qp			= SHM_QP_MAX,
	.max_qp_wr		= SHM_WR_MAX,
	.device_cap_flags	= IBV_DEVICE_CURR_QP_STATE_MOD |
				  IBV_DEVICE_SYS_IMAGE_GUID |
				  IBV_DEVICE_RC_RNR_NAK_GEN |
				  IBV_DEVICE_AUTO_PATH_MIG |
				  IBV_DEVICE_SRQ_RESIZE |
				  IBV_DEVICE_XRC |
				  IBV_DEVICE_PORT_ACTIVE_EVENT |
				  IBV_DEVICE_MEM_WINDOW |
				  IBV_DEVICE_MEM_WINDOW_TYPE_2B,
	.max_sge		= SHM_SGE_MAX,
	.max_sge_rd		= SHM_SGE_MAX,
	.max_cq			= SHM_CQ_MAX,
	.max_cqe		= SHM_CQE_MAX,
	.max_mr			= SHM_MR_MAX,
	.max_mw			= SHM_MW_MAX,
	.max_pd			= PD_MAX,
	.max_qp_rd_atom		= 16,
	.max_res_rd_atom	= 16 * SHM_QP_MAX,
	.max_qp_init_rd_atom	= 16,
	.atomic_cap		= IBV_ATOMIC_HCA,
	.max_ah			= 1 << 24,
	.max_mcast_grp		= REGISTRY_MEMBERS,
	.max_mcast_qp_attach	= REGISTRY_MEMBERS,
	.max_total_mcast_qp_attach = REGISTRY_MEMBERS,
	.max_srq		= SHM_SRQ_MAX,
	.max_srq_wr		= SHM_WR_MAX,
	.max_srq_sge		= SHM_SGE_MAX,
	.max_pkeys		= 1,
	.local_ca_ack_delay	= 15,
	.phys_port_cnt		= 1,
};

enum {
	ODP_UC	= IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
		  IBV_ODP_SUPPORT_WRITE,
	ODP_RC	= ODP_UC | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
		  IBV_ODP_SUPPORT_SRQ_RECV,
	ODP_XRC	= ODP_RC & ~IBV_ODP_SUPPORT_RECV,	/* shared queues only */
	ODP_UD	= IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
		  IBV_ODP_SUPPORT_SRQ_RECV,
};

/* Of an Ethernet link. */
static void add_raw(struct ibv_device_attr_ex *attr)
{
	attr->orig_attr.device_cap_flags |= IBV_DEVICE_MANAGED_FLOW_STEERING;
	attr->orig_attr.max_raw_ethy_qp = SHM_QP_MAX;
	attr->max_wq_type_rq = SHM_QP_MAX;
	attr->rss_caps = (struct ibv_rss_caps){
		.supported_qpts			= 1 << IBV_QPT_RAW_PACKET,
		.max_rwq_indirection_tables	= SHM_QP_MAX,
		.max_rwq_indirection_table_size	= SHM_RSS_MAX,
		.rx_hash_fields_mask		= RSS_FIELDS,
		.rx_hash_function		= IBV_RX_HASH_FUNC_TOEPLITZ,
	};
}

/* What is not named is not there: TSO, pacing, tag matching, PCI atomics. */
void device_own(struct persona *out)
{
	*out = (struct persona){
		.attr = {
			.odp_caps = {
				.general_caps = IBV_ODP_SUPPORT |
						IBV_ODP_SUPPORT_IMPLICIT,
				.per_transport_caps = { ODP_RC, ODP_UC, ODP_UD },
			},
			.completion_timestamp_mask	= UINT64_MAX,
			.hca_core_clock			= 1000000,	/* kHz: ns */
			.cq_mod_caps			= { UINT16_MAX, UINT16_MAX },
			.max_dm_size			= DM_MAX,
			.xrc_odp_caps			= ODP_XRC,
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
	if (port_wants_roce())
		add_raw(&out->attr);
	out->attr.device_cap_flags_ex |= out->attr.orig_attr.device_cap_flags;
}

EXPORT int ibv_query_device(struct ibv_context *context,
			    struct ibv_device_attr *attr)
{
	int err;

	err = soft_enter_inherited(context, "query_device");
	if (err)
		return err;
	*attr = *persona_limits();
	return 0;
}

/* Sizes come from the program: copy the smaller, zero the rest. */
int soft_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size)
{
	const struct ibv_device_attr_ex *all = &persona_get()->attr;
	int err;

	err = soft_enter_inherited(context, "query_device_ex");
	if (err)
		return err;
	if (input && input->comp_mask)
		return EINVAL;
	if (size < sizeof(all->orig_attr))
		return EINVAL;
	memset(attr, 0, size);
	memcpy(attr, all, size < sizeof(*all) ? size : sizeof(*all));
	return 0;
}

int soft_query_rt_values(struct ibv_context *context,
			 struct ibv_values_ex *values)
{
	uint64_t now = process_now();
	uint32_t asked = values->comp_mask;
	int err;

	err = soft_enter(context, "query_rt_values");
	if (err)
		return err;
	if (asked & ~IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	values->comp_mask = asked & IBV_VALUES_MASK_RAW_CLOCK;
	if (values->comp_mask) {
		/* in cycles of hca_core_clock, as in completions */
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = now;
	}
	return 0;
}

EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
				      uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

EXPORT int ibv_read_sysfs_file(const char *dir, const char *name, char *buf,
			       size_t size)
{
	char path[512], there[FACE_PATH];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	/* where libc comes before us, its fopen() does not ask */
	file = fopen(face_path(path, there), "re");
	if (!file)
		return -1;
	n = fread(buf, 1, size, file);
	fclose(file);
	if (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	else if (n < size)
		buf[n] = '\0';
	else
		return -1;
	return n;
}

EXPORT const char *ibv_get_sysfs_path(void)
{
	const char *path = getenv("SYSFS_PATH");

	return path ? path : "/sys";
}

/*
 * The default ports of the device: InfiniBand or RoCE
 */
#include "shim/soft/fabric/link.h"

#include <stdlib.h>
#include <string.h>

#define LINK_LOCAL 0xfe, 0x80, 0, 0, 0, 0, 0, 0
#define IB_GID(n)                                                   \
	{                                                           \
		{                                                   \
			LINK_LOCAL, 0x02, 'V', 'B', 'M', 0, 0, n, 1 \
		}                                                   \
	}
#define ROCE_GID                                                       \
	{                                                              \
		{                                                      \
			LINK_LOCAL, 0, 'V', 'B', 0xff, 0xfe, 'M', 0, 1 \
		}                                                      \
	}
#define LOCALHOST                                                              \
	{                                                                      \
		{                                                              \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 \
		}                                                              \
	}

static const struct port ib_port = {
	.attr = {
		.state		= IBV_PORT_ACTIVE,
		.max_mtu	= IBV_MTU_4096,
		.active_mtu	= IBV_MTU_4096,
		.gid_tbl_len	= 16,
		.port_cap_flags	= IBV_PORT_CM_SUP,
		.max_msg_sz	= 1 << 30,
		.pkey_tbl_len	= 1,
		.lid		= 1,
		.sm_lid		= 1,
		.max_vl_num	= 1,
		.subnet_timeout	= 18,
		.active_width	= 2,	/* 4X */
		.active_speed	= 32,	/* 25 Gbit/s a lane */
		.phys_state	= 5,	/* LinkUp */
		.link_layer	= IBV_LINK_LAYER_INFINIBAND,
	},
	.gid = {
		{ IB_GID(0), IBV_GID_TYPE_IB },
		{ IB_GID(1), IBV_GID_TYPE_IB },
	},
	.pkey = { 0xffff },
};

/* clang-format off */
static const struct port_gid roce_gids[] = {
	{ ROCE_GID, IBV_GID_TYPE_ROCE_V1 },
	{ ROCE_GID, IBV_GID_TYPE_ROCE_V2 },
	{ LOCALHOST, IBV_GID_TYPE_ROCE_V1 },
	{ LOCALHOST, IBV_GID_TYPE_ROCE_V2 },
};
/* clang-format on */

bool link_wants_roce(void)
{
	const char *link = getenv("VERBATIM_SOFT_LINK");

	return link && !strcmp(link, "roce");
}

static void make_roce(struct port *port)
{
	port->attr.port_cap_flags |= IBV_PORT_IP_BASED_GIDS;
	port->attr.lid = 0;
	port->attr.sm_lid = 0;
	port->attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	port->attr.flags = IBV_QPF_GRH_REQUIRED;
	memcpy(port->gid, roce_gids, sizeof(roce_gids));
}

bool link_has_gid(const struct port *port, uint32_t index)
{
	static const union ibv_gid unset;

	return index < link_num_gids(port) && memcmp(&port->gid[index].gid, &unset, sizeof(unset));
}

void link_fill_port(uint32_t num, bool roce, struct port *out)
{
	uint32_t i;

	*out = ib_port;
	out->attr.lid = num;
	if (roce)
		make_roce(out);
	for (i = 0; link_has_gid(out, i); i++)
		out->gid[i].gid.raw[15] = num;
}

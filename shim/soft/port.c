/*
 * The port: link, addresses, partition keys
 *
 * An InfiniBand link with LID 1, or a RoCE one with VERBATIM_SOFT_LINK=roce.
 * All processes of a fabric are on the one port, told apart by their queue
 * pair numbers, as on a machine with one adapter.
 */
#include "shim/soft/context.h"

#include <endian.h>
#include <stdlib.h>

#include "shim/soft/port.h"
#include "shim/soft/port_state.h"

enum { LID = 1, GIDS = 16, PHYS_DISABLED = 3 };

struct gid {
	uint8_t			raw[16];
	enum ibv_gid_type	type;
};

#define LINK_LOCAL	0xfe, 0x80, 0, 0, 0, 0, 0, 0
#define LOCALHOST	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1

static const struct gid ib_gids[] = {
	{ { LINK_LOCAL, 0x02, 'V', 'B', 'M', 0, 0, 0, 1 }, IBV_GID_TYPE_IB },
	{ { LINK_LOCAL, 0x02, 'V', 'B', 'M', 0, 0, 1, 1 }, IBV_GID_TYPE_IB },
};

static const struct gid roce_gids[] = {
	{ { LINK_LOCAL, 0, 'V', 'B', 0xff, 0xfe, 'M', 0, 1 }, IBV_GID_TYPE_ROCE_V1 },
	{ { LINK_LOCAL, 0, 'V', 'B', 0xff, 0xfe, 'M', 0, 1 }, IBV_GID_TYPE_ROCE_V2 },
	{ { LOCALHOST }, IBV_GID_TYPE_ROCE_V1 },
	{ { LOCALHOST }, IBV_GID_TYPE_ROCE_V2 },
};

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

bool port_is_roce(void)
{
	const char *link = getenv("VERBATIM_SOFT_LINK");

	return link && !strcmp(link, "roce");
}

static const struct gid *gid_at(uint32_t index)
{
	if (port_is_roce())
		return index < COUNT(roce_gids) ? &roce_gids[index] : NULL;
	return index < COUNT(ib_gids) ? &ib_gids[index] : NULL;
}

bool port_has_gid(const union ibv_gid *gid)
{
	const struct gid *have;
	uint32_t i;

	for (i = 0; (have = gid_at(i)); i++)
		if (!memcmp(have->raw, gid->raw, sizeof(gid->raw)))
			return true;
	return false;
}

bool port_reaches(const struct ibv_ah_attr *attr)
{
	if (attr->is_global)
		return port_has_gid(&attr->grh.dgid);
	return !port_is_roce() && attr->dlid == LID;
}

static void port_attr(struct ibv_port_attr *attr)
{
	bool roce = port_is_roce();

	*attr = (struct ibv_port_attr){
		.state		= IBV_PORT_ACTIVE,
		.max_mtu	= IBV_MTU_4096,
		.active_mtu	= IBV_MTU_4096,
		.gid_tbl_len	= GIDS,
		.port_cap_flags	= IBV_PORT_CM_SUP |
				  (roce ? IBV_PORT_IP_BASED_GIDS : 0),
		.max_msg_sz	= 1 << 30,
		.pkey_tbl_len	= 1,
		.lid		= roce ? 0 : LID,
		.sm_lid		= roce ? 0 : LID,
		.max_vl_num	= 1,
		.subnet_timeout	= 18,
		.active_width	= 2,	/* 4X */
		.active_speed	= 32,	/* 25 Gbit/s a lane */
		.phys_state	= 5,	/* LinkUp */
		.link_layer	= roce ? IBV_LINK_LAYER_ETHERNET :
					 IBV_LINK_LAYER_INFINIBAND,
		.flags		= roce ? IBV_QPF_GRH_REQUIRED : 0,
	};
}

int soft_query_port(struct ibv_context *context, uint8_t port_num,
		    struct ibv_port_attr *attr, size_t size)
{
	struct ibv_port_attr all;
	int err;

	err = soft_enter(context, "query_port");
	if (err)
		return err;
	if (port_num != 1)
		return EINVAL;
	port_attr(&all);
	if (port_blocked(fabric_seg, port_num)) {
		all.state = IBV_PORT_DOWN;
		all.phys_state = PHYS_DISABLED;
	}
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* The structure ends before link_layer's successors: 48 bytes of it. */
EXPORT int (ibv_query_port)(struct ibv_context *context, uint8_t port_num,
			    struct _compat_ibv_port_attr *attr)
{
	return soft_query_port(context, port_num, (void *)attr,
			       offsetof(struct ibv_port_attr, port_cap_flags2));
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			 int index, union ibv_gid *gid)
{
	const struct gid *have = gid_at(index);
	int err = soft_enter(context, "query_gid");

	if (!err && (port_num != 1 || index < 0 || index >= GIDS))
		err = EINVAL;
	if (err) {
		errno = err;
		return -1;
	}
	memset(gid, 0, sizeof(*gid));
	if (have)
		memcpy(gid->raw, have->raw, sizeof(have->raw));
	return 0;
}

static void fill_entry(struct ibv_gid_entry *entry, size_t size, uint32_t index)
{
	const struct gid *gid = gid_at(index);
	struct ibv_gid_entry all = {
		.gid_index	= index,
		.port_num	= 1,
		.gid_type	= gid->type,
		.ndev_ifindex	= port_is_roce() ? 1 : 0,
	};

	memcpy(all.gid.raw, gid->raw, sizeof(gid->raw));
	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
			     uint32_t index, struct ibv_gid_entry *entry,
			     uint32_t flags, size_t size)
{
	int err;

	err = soft_enter(context, "query_gid_ex");
	if (err)
		return err;
	if (flags)
		return EOPNOTSUPP;
	if (port_num != 1 || index >= GIDS)
		return EINVAL;
	if (!gid_at(index))
		return ENODATA;
	fill_entry(entry, size, index);
	return 0;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
				    struct ibv_gid_entry *entries, size_t max,
				    uint32_t flags, size_t size)
{
	uint32_t i;
	int err;

	err = soft_enter(context, "query_gid_table");
	if (err)
		return -err;
	if (flags)
		return -EOPNOTSUPP;
	for (i = 0; gid_at(i); i++) {
		if (i >= max)
			return -EINVAL;
		fill_entry((void *)((char *)entries + i * size), size, i);
	}
	return i;
}

/* Private, but ibv_devinfo and pyverbs import it. 0: IB or v1, 1: RoCE v2. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
			      unsigned int index, int *type);
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
			      unsigned int index, int *type)
{
	const struct gid *gid = gid_at(index);

	if (!soft_ours(context) || port_num != 1 || index >= GIDS) {
		errno = EINVAL;
		return -1;
	}
	*type = gid && gid->type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			  int index, __be16 *pkey)
{
	int err = soft_enter(context, "query_pkey");

	if (!err && (port_num != 1 || index != 0))
		err = EINVAL;
	if (err) {
		errno = err;
		return -1;
	}
	*pkey = htobe16(0xffff);
	return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
			      __be16 pkey)
{
	int err = soft_enter(context, "get_pkey_index");

	/* full or limited members, as the kernel compares them */
	if (!err && (port_num != 1 || (be16toh(pkey) & 0x7fff) != 0x7fff))
		err = EINVAL;
	if (!err)
		return 0;
	errno = err;
	return -1;
}

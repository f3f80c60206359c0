#pragma once
/*
 * The properties of a port, and those of the device's own ports on either link. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

enum { PORT_MAX = 4, PORT_GIDS = 256, PORT_PKEYS = 128 };

/* An entry that is all zero is unset. */
struct port_gid {
	union ibv_gid gid;
	enum ibv_gid_type type;
};

struct port {
	struct ibv_port_attr attr;
	struct port_gid gid[PORT_GIDS]; /* to attr.gid_tbl_len */
	uint16_t pkey[PORT_PKEYS];      /* to attr.pkey_tbl_len */
};

/* Port @num of this device without a profile. */
void link_own_port(uint32_t num, bool roce, struct port *out);

/* Does VERBATIM_SOFT_LINK select RoCE? */
bool link_wants_roce(void);

/* Does the GID at @index exist, and is it set? */
bool link_has_gid(const struct port *port, uint32_t index);

/* The size of the port's GID table; 0 for NULL. */
static inline uint32_t link_num_gids(const struct port *port)
{
	return port ? port->attr.gid_tbl_len : 0;
}

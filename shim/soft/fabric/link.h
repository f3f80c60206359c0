#pragma once
/*
 * The properties of a port; and the device's own ports, as InfiniBand or RoCE. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

enum { PORT_MAX = 4, PORT_GIDS = 256, PORT_PKEYS = 128 };

/* An entry of the GID table; all zero: unset. */
struct port_gid {
	union ibv_gid gid;
	enum ibv_gid_type type;
};

struct port {
	struct ibv_port_attr attr;
	struct port_gid gid[PORT_GIDS]; /* attr.gid_tbl_len entries */
	uint16_t pkey[PORT_PKEYS];      /* attr.pkey_tbl_len entries */
};

/* Port @num of this device when no profile is used. */
void link_fill_port(uint32_t num, bool roce, struct port *out);

/* Does VERBATIM_SOFT_LINK select RoCE? */
bool link_wants_roce(void);

/* Is there a GID at @index of the table, and is it set? */
bool link_has_gid(const struct port *port, uint32_t index);

/* The size of the port's GID table; 0 for NULL. */
static inline uint32_t link_num_gids(const struct port *port)
{
	return port ? port->attr.gid_tbl_len : 0;
}

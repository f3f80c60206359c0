#pragma once
/*
 * The ports and who can be reached through them. Any thread.
 */
#include <stdbool.h>
#include <infiniband/verbs.h>

enum { PORT_MAX = 4, PORT_GIDS = 256, PORT_PKEYS = 128 };

/* One that is all zero is unset. */
struct port_gid {
	union ibv_gid		gid;
	enum ibv_gid_type	type;
};

struct port {
	struct ibv_port_attr	attr;
	struct port_gid		gid[PORT_GIDS];		/* to attr.gid_tbl_len */
	uint16_t		pkey[PORT_PKEYS];	/* to attr.pkey_tbl_len */
};

/*
 * May those two partition keys talk? They must name one partition, and one
 * of them be a full member of it (10.9.3).
 */
static inline bool port_same_partition(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && (a | b) >> 15;
}

/* What stands at @index of the table of port @num, or 0: no partition. */
uint16_t port_pkey(uint32_t num, uint32_t index);

/* Ports count from 1; NULL if there is none of this number. */
const struct port *port_at(uint32_t num);

/* What port @num of this device is like when nobody says otherwise. */
void port_own(uint32_t num, bool roce, struct port *out);

/* Does VERBATIM_SOFT_LINK ask for it? */
bool port_wants_roce(void);

/* Is the GID at @index there and set? */
bool port_has_index(const struct port *port, uint32_t index);

/* False for a port that is not there, too. */
bool port_is_roce(uint32_t num);

/* Is it the GID of one of our ports, or of anybody's? */
bool port_has_gid(const union ibv_gid *gid);

/* What stands at @index of its table; false: nothing. */
bool port_gid(uint32_t num, uint32_t index, struct port_gid *gid);
/* Where in the table, or -1. */
int port_find_gid(uint32_t num, const union ibv_gid *gid,
		  enum ibv_gid_type type);

/* Does anybody answer at this address? */
bool port_reaches(const struct ibv_ah_attr *attr);

/* Tell the fabric where we are, if not where everybody is. */
void port_publish(void);

/* 0; EINVAL if no port of ours sends to such an address. */
int port_check(const struct ibv_ah_attr *attr);

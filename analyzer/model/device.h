#pragma once
/*
 * The capabilities of a device, and the GIDs of its ports, from the last query of a context: the
 * program's own or the recorder's.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/place.h"

struct call;

enum { DEVICE_GID = PLACE_GID, DEVICE_PORTS = 8 };

/* Fields of struct ibv_device_attr that limit requests of programs. */
#define EACH_DEVICE_LIMIT(X)   \
	X(max_mr_size)         \
	X(max_qp_wr)           \
	X(max_sge)             \
	X(max_cqe)             \
	X(max_qp_rd_atom)      \
	X(max_qp_init_rd_atom) \
	X(max_srq_wr)          \
	X(max_srq_sge)         \
	X(phys_port_cnt)

struct device_port {
	bool known;
	bool ethernet;
	uint32_t active_mtu; /* enum ibv_mtu */
	uint32_t gid_tbl_len, pkey_tbl_len;
	uint32_t max_msg_sz; /* 0: not known */
	uint16_t lid;
	uint8_t lmc;
};

struct device_gid {
	uint32_t port, index;
	int type; /* enum ibv_gid_type; -1: not known */
	uint8_t raw[DEVICE_GID];
};

struct device {
	unsigned int refs;
	bool known; /* the limits are known */
	int64_t vendor_id;
	int64_t comp_vectors; /* num_comp_vectors of the context; 0: not known */
#define DEVICE_MEMBER(name) int64_t name;
	EACH_DEVICE_LIMIT(DEVICE_MEMBER)
#undef DEVICE_MEMBER
	struct device_port ports[DEVICE_PORTS + 1]; /* by number, from 1 */
	struct device_gid *gids;
	size_t ngids;
	bool all_gids; /* the whole table was read: other entries are empty */
};

/* Update from @call, a query that succeeded. Creates *@device. 0 or -ENOMEM. */
int device_learn(struct device **device, const struct call *call);

/* A context was opened. Makes *@device. 0 or -ENOMEM. */
int device_note_opened(struct device **device, const struct call *call);

/* One more reference to *@device, which is made if need be; NULL if out of memory. */
struct device *device_get(struct device **device);

/* Accepts NULL. */
void device_put(struct device *device);

/* Is @to the address of @port of @device, or of any port if @port is 0? Accepts NULL. */
enum placed device_place(const struct device *device, uint32_t port, const struct place *to);

/* Is entry @index of the port's GID table empty, as far as the table was read? Accepts NULL. */
bool device_lacks_gid(const struct device *device, uint32_t port, uint32_t index);

/* NULL: not known. All accept NULL for @device. */
const struct device_port *device_find_port(const struct device *device, uint32_t port);
const struct device_gid *device_find_gid(const struct device *device, uint32_t port,
					 uint32_t index);

/* The first RoCE v2 GID of @port that is an IPv4 address; NULL: none is known. */
const struct device_gid *device_find_ipv4(const struct device *device, uint32_t port);

/* Is @device soft iWARP, which applies RLIMIT_MEMLOCK despite CAP_IPC_LOCK? Accepts NULL. */
bool device_is_siw(const struct device *device);

/* "RoCE v1" */
const char *gid_type_name(int type);

/* "::ffff:10.0.0.1", "fe80::1" */
const char *gid_text(const uint8_t gid[DEVICE_GID], char text[48]);

static inline bool gid_is_link_local(const uint8_t gid[DEVICE_GID])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

bool gid_is_ipv4(const uint8_t gid[DEVICE_GID]);

#pragma once
/*
 * ibv_wr_flush() and its constants
 *
 * A newer <infiniband/verbs.h> declares the same, so this file uses other names. The values are
 * those of rdma-core 45 and later. Source: ibv_wr_post(3), ibv_reg_mr(3), IBA annex A19.
 */
#include <stdint.h>

enum {
	FLUSH_WITH = 1 << 11, /* enum ibv_qp_create_send_ops_flags */
	FLUSH_WR = 14,        /* enum ibv_wr_opcode */
	FLUSH_WC = 8,         /* enum ibv_wc_opcode */

	FLUSH_GLOBAL = 1 << 0, /* enum ibv_placement_type */
	FLUSH_PERSISTENT = 1 << 1,
	FLUSH_RANGE = 0, /* enum ibv_selectivity_level */
	FLUSH_MR = 1,

	FLUSH_ACCESS_SHIFT = 8, /* position of the placement types in enum ibv_access_flags */
	FLUSH_ACCESS_GLOBAL = FLUSH_GLOBAL << FLUSH_ACCESS_SHIFT,

	FLUSH_ODP = 1 << 6, /* enum ibv_odp_transport_cap_bits */
	FLUSH_ODP_ATOMIC_WRITE = 1 << 7,
};

/* device_cap_flags_ex */
#define FLUSH_CAP_GLOBAL       (1ull << 38)
#define FLUSH_CAP_ATOMIC_WRITE (1ull << 40)

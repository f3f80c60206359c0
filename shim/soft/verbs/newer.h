#pragma once
/*
 * The verbs that rdma-core 44 lacks, IBVERBS_1.15 to 1.18, and their structures
 *
 * A newer <infiniband/verbs.h> declares them, too. So each has another name in C; the symbol in the
 * object file has the verb's name. The structures have the layout of rdma-core 65.
 */
#include <infiniband/verbs.h>

#include "shim/soft/verbs/enter.h"

enum soft_mr_mask {
	MR_IOVA = 1 << 0,
	MR_ADDR = 1 << 1,
	MR_FD = 1 << 2,
	MR_FD_OFFSET = 1 << 3,
	MR_DMAH = 1 << 4,
	MR_BUF = 1 << 5,
};

struct soft_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask; /* enum soft_mr_mask */
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct soft_dmah *dmah;
	struct soft_buf *buf;
};

struct soft_dmah_init_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

struct soft_comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops; /* bits of enum shm_counter_bit */
};

enum soft_comp_cntr_type { COMP_CNTR_WRS, COMP_CNTR_BYTES };

struct soft_comp_cntr_init_attr {
	uint32_t comp_mask;
	enum soft_comp_cntr_type type;
	uint32_t flags;
};

struct soft_qp_attach_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t op_mask; /* bits of enum shm_counter_bit */
};

#define NEWER(type, name, ...) EXPORT type soft_##name(__VA_ARGS__) __asm__("ibv_" #name)

/* 1.15 */
NEWER(struct soft_dmah *, alloc_dmah, struct ibv_context *context,
      struct soft_dmah_init_attr *attr);
NEWER(int, dealloc_dmah, struct soft_dmah *dmah);
NEWER(struct ibv_mr *, reg_mr_ex, struct ibv_pd *pd, struct soft_mr_init_attr *attr);

/* 1.16 */
NEWER(int, dm_export_dmabuf_fd, struct ibv_dm *dm);
NEWER(int, query_port_speed, struct ibv_context *context, uint32_t port_num, uint64_t *speed);

/* 1.17 */
NEWER(void *, alloc_buf, struct ibv_pd *pd, size_t size, struct soft_buf **buf);
NEWER(void, free_buf, struct soft_buf *buf);
NEWER(struct ibv_mr *, reg_buf_mr, struct ibv_pd *pd, struct soft_buf *buf, void *addr,
      size_t length, int access);

/* 1.18 */
NEWER(int, export_buf_dmabuf_fd, struct soft_buf *buf);
NEWER(struct soft_comp_cntr *, create_comp_cntr, struct ibv_context *context,
      struct soft_comp_cntr_init_attr *attr);
NEWER(int, destroy_comp_cntr, struct soft_comp_cntr *cntr);
NEWER(int, set_comp_cntr, struct soft_comp_cntr *cntr, uint64_t value);
NEWER(int, set_err_comp_cntr, struct soft_comp_cntr *cntr, uint64_t value);
NEWER(int, inc_comp_cntr, struct soft_comp_cntr *cntr, uint64_t amount);
NEWER(int, inc_err_comp_cntr, struct soft_comp_cntr *cntr, uint64_t amount);
NEWER(int, read_comp_cntr, struct soft_comp_cntr *cntr, uint64_t *value);
NEWER(int, read_err_comp_cntr, struct soft_comp_cntr *cntr, uint64_t *value);
NEWER(int, qp_attach_comp_cntr, struct ibv_qp *qp, struct soft_comp_cntr *cntr,
      struct soft_qp_attach_comp_cntr_attr *attr);

/* _ibv_query_comp_cntr_caps; @size: size of the caller's structure */
EXPORT int soft_query_comp_cntr_caps(struct ibv_context *context, struct soft_comp_cntr_caps *caps,
				     size_t size) __asm__("_ibv_query_comp_cntr_caps");

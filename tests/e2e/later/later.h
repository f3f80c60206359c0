#define _GNU_SOURCE
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct dmah {
	struct ibv_context *context;
};
struct dmah_attr {
	uint32_t comp_mask, cpu_id;
	uint8_t ph, type;
};
struct mr_attr {
	size_t length;
	int access;
	uint64_t comp_mask, iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah, *buf;
};
struct cntr {
	struct ibv_context *context;
	uint32_t handle;
	uint64_t most, most_errors;
};
struct cntr_attr {
	uint32_t comp_mask, type, flags;
};
struct attach {
	uint32_t comp_mask, op_mask;
};
struct caps {
	uint64_t most;
	uint32_t counters, ops;
};
#ifndef WEAK
#define WEAK
#endif
struct dmah *ibv_alloc_dmah(struct ibv_context *, struct dmah_attr *) WEAK;
int ibv_dealloc_dmah(struct dmah *) WEAK;
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *, struct mr_attr *) WEAK;
int ibv_dm_export_dmabuf_fd(struct ibv_dm *) WEAK;
int ibv_query_port_speed(struct ibv_context *, uint32_t, uint64_t *) WEAK;
void *ibv_alloc_buf(struct ibv_pd *, size_t, void **) WEAK;
void ibv_free_buf(void *) WEAK;
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *, void *, void *, size_t, int) WEAK;
int ibv_query_comp_cntr_caps(struct ibv_context *, struct caps *) WEAK;
struct cntr *ibv_create_comp_cntr(struct ibv_context *, struct cntr_attr *) WEAK;
int ibv_destroy_comp_cntr(struct cntr *) WEAK;
int ibv_set_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_set_err_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_inc_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_inc_err_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_read_comp_cntr(struct cntr *, uint64_t *) WEAK;
int ibv_read_err_comp_cntr(struct cntr *, uint64_t *) WEAK;
int ibv_export_buf_dmabuf_fd(void *) WEAK;
int ibv_qp_attach_comp_cntr(struct ibv_qp *, struct cntr *, struct attach *) WEAK;

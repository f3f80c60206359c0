#pragma once
/*
 * The effects of control verbs on payload capture: which queues exist, their capacity, and the
 * memory of keys. These functions are called after the return event was written; @ret is the verb's
 * result. They do nothing if no payload is captured.
 */
#include <infiniband/verbs.h>

#include "shim/trace/verbs/call.h"

void payload_note_qp(const struct call *call, const struct ibv_qp *qp);
void payload_note_qp_ex(const struct call *call, const struct ibv_qp *qp);
void payload_note_opened_qp(const struct call *call, const struct ibv_qp *qp);
void payload_note_modified_qp(const struct call *call, int ret);
void payload_note_wq(const struct call *call, const struct ibv_wq *wq);
void payload_note_cq(const struct ibv_cq *cq);

void hook_create_cq(const struct call *call, struct ibv_cq *cq);
void hook_create_srq(const struct call *call, struct ibv_srq *srq);
void hook_create_srq_ex(const struct call *call, struct ibv_srq *srq);
void hook_modify_srq(const struct call *call, int ret);
void hook_destroy_qp(const struct call *call, int ret);
void hook_destroy_srq(const struct call *call, int ret);
void hook_destroy_wq(const struct call *call, int ret);

void hook_reg_mr(const struct call *call, struct ibv_mr *mr);
void hook_reg_mr_iova(const struct call *call, struct ibv_mr *mr);
void hook_reg_mr_iova2(const struct call *call, struct ibv_mr *mr);
void hook_reg_dmabuf_mr(const struct call *call, struct ibv_mr *mr);
void hook_reg_dm_mr(const struct call *call, struct ibv_mr *mr);
void hook_alloc_null_mr(const struct call *call, struct ibv_mr *mr);
void hook_import_mr(const struct call *call, struct ibv_mr *mr);
void hook_rereg_mr(const struct call *call, int ret);
void hook_dereg_mr(const struct call *call, int ret);
void hook_unimport_mr(const struct call *call);

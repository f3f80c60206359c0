#pragma once
/*
 * Why a call was refused: it lacks something that it needs (refused.h).
 */
#include "analyzer/model/refused.h"

/* A creation on nothing: the result of one that failed, or an index beyond a list. */
bool refused_explain_null_object(const struct refused *r, char *text, size_t size);

/* ibv_alloc_parent_domain(): the protection domain. */
bool refused_explain_null_pd(const struct refused *r, char *text, size_t size);

/* ibv_create_qp_ex(): the bit for a PD or XRC domain; or functions of ibv_wr_*() for its type. */
bool refused_explain_extension(const struct refused *r, char *text, size_t size);

/* ibv_create_srq_ex(): the bit for the PD, XRC domain or CQ. */
bool refused_explain_srq_parts(const struct refused *r, char *text, size_t size);

/* ibv_qp_to_qp_ex() of a queue pair that has no ibv_wr_*(). */
bool refused_explain_builders(const struct refused *r, char *text, size_t size);

/* EBADF of a call that reads the descriptor of a context or channel. */
bool refused_explain_descriptor(const struct refused *r, char *text, size_t size);

/* ibv_create_ah() on InfiniBand without a LID and a GID. */
bool refused_explain_destination(const struct refused *r, char *text, size_t size);

/* rdma_create_qp(): a PD of another context than a CQ. */
bool refused_explain_contexts(const struct refused *r, char *text, size_t size);

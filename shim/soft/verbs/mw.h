#pragma once
/*
 * Memory windows: the verbs for them.
 */
#include "shim/soft/transport/objects.h"

struct ibv_mw *soft_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int soft_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind);
int soft_dealloc_mw(struct ibv_mw *mw);

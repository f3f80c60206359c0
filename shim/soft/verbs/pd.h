#pragma once
/*
 * Protection domains by their number. Callers hold the object mutex.
 */
#include "shim/soft/transport/objects.h"

/* The protection domain with @handle in the command file of @context, or NULL. */
struct soft_pd *pd_find(struct ibv_context *context, uint32_t handle);

void pd_add(struct soft_pd *pd);
void pd_del(struct soft_pd *pd);

void pd_close_all(struct ibv_context *context);
void pd_forget(void);

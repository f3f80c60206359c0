#pragma once
/*
 * Device memory. Under the object mutex.
 */
#include "shim/soft/transport/soft.h"


/* What @handle names in the file that @context is of, or NULL. */
struct soft_dm *dm_find(struct ibv_context *context, uint32_t handle);

/* A structure for @length bytes at @memory, as a program sees it; or NULL. */
struct soft_dm *dm_new(struct ibv_context *context, void *memory, size_t length,
		       uint32_t handle);
void dm_add(struct soft_dm *dm);
void dm_del(struct soft_dm *dm);

#pragma once
/*
 * Device memory. Callers hold the object mutex.
 */
#include "shim/soft/transport/objects.h"

/* The device memory with @handle in the command file of @context, or NULL. */
struct soft_dm *dm_find(struct ibv_context *context, uint32_t handle);

/* Create a structure for @length bytes at @memory, as the program sees it; NULL: out of memory. */
struct soft_dm *dm_new(struct ibv_context *context, void *memory, size_t length, uint32_t handle);
void dm_add(struct soft_dm *dm);
void dm_del(struct soft_dm *dm);

struct ibv_dm *soft_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int soft_free_dm(struct ibv_dm *dm);
struct ibv_mr *soft_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t off, size_t length,
			      unsigned int access);
void dm_close_all(struct ibv_context *context);
void dm_forget(void);

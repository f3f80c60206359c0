#pragma once
/*
 * Memory regions: functions for registering and changing them.
 */
#include "shim/soft/transport/objects.h"
#include "shim/soft/fabric/key.h"

/* A range that is to be registered. */
struct mr_range {
	void *addr;   /* as the program sees it */
	void *memory; /* where it is in this process's address space */
	size_t length;
	uint64_t iova;
	uint32_t access; /* enum ibv_access_flags, and SHM_MR_NULL */
};

/* Check access flags. 0 or EINVAL. */
int mr_check_access(unsigned int access);

/* Fault in the pages of @range, unless the region is on demand. 0, EFAULT or EINVAL. */
int mr_check_memory(const struct mr_range *range);

/* Create a region with new keys for @range, which is not checked. NULL and errno on failure. */
struct soft_mr *mr_new(struct ibv_pd *pd, const struct mr_range *range);

/* ibv_reg_mr_iova2() and ibv_reg_dmabuf_mr(), for internal calls. */
struct ibv_mr *mr_reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
		      unsigned int access);
struct ibv_mr *mr_reg_dmabuf(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
			     int fd, int access);

/*
 * mr_withdraw(): remove the keys, and wait for all their users. mr_publish(): publish them again,
 * or the new keys that mr_rekey() has chosen. Callers hold the object mutex.
 */
void mr_withdraw(struct soft_mr *mr);
void mr_rekey(struct soft_mr *mr);
void mr_publish(struct soft_mr *mr);

/*
 * @mr will be freed: from now on @other, from the same ring (soft_twin), represents the object.
 * Callers hold the object mutex.
 */
void mr_replace_slot(struct soft_mr *mr, struct soft_mr *other);

struct ibv_mr *soft_alloc_null_mr(struct ibv_pd *pd);
void mr_close_all(struct ibv_context *context);

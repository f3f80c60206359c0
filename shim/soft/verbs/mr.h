#pragma once
/*
 * Memory regions: what the ways to register and to change one share.
 */
#include "shim/soft/transport/objects.h"
#include "shim/soft/fabric/key.h"

/* What is to be registered. */
struct mr_range {
	void *addr;   /* as the program is told */
	void *memory; /* where it lies in this process */
	size_t length;
	uint64_t iova;
	uint32_t access; /* enum ibv_access_flags, SHM_MR_NULL */
};

/* 0 or EINVAL. */
int mr_check_access(unsigned int access);

/* Bring its pages in, unless they come on demand. 0, EFAULT or EINVAL. */
int mr_check_memory(const struct mr_range *range);

/* A region with new keys, or NULL and errno. Nothing of the range is checked. */
struct soft_mr *mr_new(struct ibv_pd *pd, const struct mr_range *range);

/*
 * Take the keys away and wait for all who may use them; and give them again,
 * after mr_rekey() others. Under the object mutex.
 */
void mr_withdraw(struct soft_mr *mr);
void mr_rekey(struct soft_mr *mr);
void mr_publish(struct soft_mr *mr);

/* @mr will go, @other of its ring stands for the object now. The same. */
void mr_represent(struct soft_mr *mr, struct soft_mr *other);

struct ibv_mr *soft_alloc_null_mr(struct ibv_pd *pd);
void mr_close_all(struct ibv_context *context);

#pragma once
/*
 * Memory regions: what the ways to register and to change one share.
 */
#include "shim/soft/transport/soft.h"

/* What is to be registered. */
struct mr_range {
	void		*addr;		/* as the program is told */
	void		*memory;	/* where it lies in this process */
	size_t		length;
	uint64_t	iova;
	uint32_t	access;		/* enum ibv_access_flags, SHM_MR_NULL */
};

/* 0 or EINVAL. */
int mr_check_access(unsigned int access);

/* Bring its pages in, unless they come on demand. 0, EFAULT or EINVAL. */
int mr_check_memory(const struct mr_range *range);

/*
 * The table of regions and windows as peers cannot write it: entries are
 * filled in here, and what we copy from and to our own memory is checked
 * with them.
 */
extern struct shm_mr mr_own[1 << SHM_MR_BITS];

static inline struct shm_mr *mr_mine(const struct shm_mr *shm)
{
	return &mr_own[shm - fabric_seg->mr];
}

/* Show an entry to peers with its keys, or take these away with 0. */
void mr_set_keys(struct shm_mr *shm, uint32_t lkey, uint32_t rkey);

/* Put memory behind @slot of the table of regions. 0 or -ENOMEM. */
int mr_reserve(uint32_t slot);

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

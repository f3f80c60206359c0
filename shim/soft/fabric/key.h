#pragma once
/*
 * Keys of memory, and what they allow. Any thread.
 *
 * A key consists of the slot of its memory region, a generation, and a bit that distinguishes a
 * remote key from a local one:
 *
 *	| slot: 17 | generation: 14 | remote: 1 |
 *
 * Memory windows have separate slots, and remote keys only (window.c).
 */
#include "shim/soft/fabric/segment.h"

/*
 * The private table of regions and windows, which peers cannot write: entries are filled in here
 * first, and every copy from or to memory of this process is checked against this table.
 */
extern struct shm_mr key_own[1 << SHM_MR_BITS];

static inline struct shm_mr *key_own_copy(const struct shm_mr *shm)
{
	return &key_own[shm - segment_own->mr];
}

/* Publish an entry with its keys to peers, or withdraw the keys with 0. */
void key_publish(struct shm_mr *shm, uint32_t lkey, uint32_t rkey);

/* Allocate memory for @slot of the table of regions. 0 or -ENOMEM. */
int key_reserve(uint32_t slot);

/* Regions that are not plain memory, and need special copying. */
#define KEY_SPECIAL (SHM_MR_NULL | IBV_ACCESS_ON_DEMAND)

/* The key of @mr; pairs with the store_release of key_publish(). */
static inline uint32_t key_of(const struct shm_mr *mr, bool remote)
{
	return __atomic_load_n(remote ? &mr->rkey : &mr->lkey, __ATOMIC_ACQUIRE);
}

static inline bool key_is_shown(const struct shm_seg *seg, uint32_t key, bool remote)
{
	uint32_t slot = key >> SHM_KEY_BITS;

	return likely(shm_has_mr(seg, slot)) && key_of(&seg->mr[slot], remote) == key;
}

/*
 * The region or window with @key. In the own segment, peers can invalidate keys of windows; their
 * other writes have no effect.
 */
static inline const struct shm_mr *key_find(const struct shm_seg *seg, uint32_t key, bool remote)
{
	uint32_t slot = key >> SHM_KEY_BITS;
	bool ours = seg == segment_own;
	const struct shm_mr *mr = ours ? &key_own[slot] : &seg->mr[slot];

	if (unlikely(!key) || ((!ours || remote) && !key_is_shown(seg, key, remote)))
		return NULL;
	return !ours || key_of(mr, remote) == key ? mr : NULL;
}

/*
 * The region of @key, if it allows @access (enum ibv_access_flags, 0 for reading) to @len bytes at
 * @addr in protection domain @pd, and a remote key on queue pair @qpn; else NULL.
 */
static inline const struct shm_mr *key_check(const struct shm_seg *seg, uint32_t pd, uint32_t qpn,
					     uint32_t access, uint64_t addr, uint64_t len,
					     uint32_t key, bool remote)
{
	const struct shm_mr *mr = key_find(seg, key, remote);
	uint64_t off;

	if (!mr || mr->pd != pd || (mr->access & access) != access ||
	    (remote && mr->qpn && mr->qpn != qpn))
		return NULL;
	off = addr - mr->iova;
	return off <= mr->length && len <= mr->length - off ? mr : NULL;
}

/* Copy @sge, reading each field once: a peer may change it between the check and the use. */
static inline struct ibv_sge key_read_sge(const struct ibv_sge *sge)
{
	return (struct ibv_sge){
		__atomic_load_n(&sge->addr, __ATOMIC_RELAXED),
		__atomic_load_n(&sge->length, __ATOMIC_RELAXED),
		__atomic_load_n(&sge->lkey, __ATOMIC_RELAXED),
	};
}

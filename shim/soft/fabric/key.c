/*
 * The private table of memory regions and windows, and its published copy
 */
#include "shim/soft/fabric/key.h"

#include <errno.h>

struct shm_mr key_own[1 << SHM_MR_BITS];

static void copy_entry(struct shm_mr *shm, const struct shm_mr *own)
{
	shm->addr = own->addr;
	shm->length = own->length;
	shm->iova = own->iova;
	shm->access = own->access;
	shm->pd = own->pd;
	shm->qpn = own->qpn;
}

void key_publish(struct shm_mr *shm, uint32_t lkey, uint32_t rkey)
{
	struct shm_mr *own = key_own_copy(shm);

	if (lkey || rkey)
		copy_entry(shm, own);
	/* pair with the load_acquire of key_of() */
	__atomic_store_n(&own->lkey, lkey, __ATOMIC_RELEASE);
	__atomic_store_n(&own->rkey, rkey, __ATOMIC_RELEASE);
	__atomic_store_n(&shm->lkey, lkey, __ATOMIC_RELEASE);
	__atomic_store_n(&shm->rkey, rkey, __ATOMIC_RELEASE);
}

int key_reserve(uint32_t slot)
{
	uint32_t part = slot / SHM_MR_PART;

	if (shm_has_mr(segment_own, slot))
		return 0;
	if (segment_reserve(&segment_own->mr[part * SHM_MR_PART],
			    SHM_MR_PART * sizeof(struct shm_mr)) < 0)
		return -ENOMEM;
	/* pairs with the load_acquire of shm_has_mr() */
	__atomic_or_fetch(&segment_own->mr_parts[part / 64], 1ull << part % 64, __ATOMIC_RELEASE);
	return 0;
}

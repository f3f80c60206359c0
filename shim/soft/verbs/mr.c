/*
 * Memory regions: register, deregister
 *
 * Registering faults the pages in for the requested access, as pinning does: memory that is not
 * mapped, or not writable, is refused with EFAULT. Pages of an on-demand region are faulted in when
 * they are used (copy_list.c); a region at address 0 with the greatest length is the whole address
 * space (implicit).
 *
 * Deregistering first removes the keys, then waits for all peers that may have found them: payload
 * in flight to the buffers is copied, and each lock that may be taken is waited for (lock.h).
 *
 * Not here: ibv_rereg_mr() (rereg.c), imports (import.c).
 */
#include "shim/soft/verbs/mr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/soft/fabric/flush.h"
#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/pages.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/stage.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/poll.h"

enum {
	NEEDS_LOCAL_WRITE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
		IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE |
		/* the only placement type: no memory is known to be persistent */
		FLUSH_ACCESS_GLOBAL,
};

static struct soft_slots slots;

int mr_check_access(unsigned int access)
{
	if (access & ~KNOWN)
		return EINVAL;
	if (access & NEEDS_LOCAL_WRITE && !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

static bool is_implicit(const struct mr_range *range)
{
	return range->access & IBV_ACCESS_ON_DEMAND && !range->memory && range->length == SIZE_MAX;
}

/*
 * Registration pins pages, so all of them are faulted in. With VERBATIM_SOFT_PAGES=lazy they are
 * faulted in when they are used, for programs that register much more memory than they use.
 */
static int populate_range(const struct mr_range *range)
{
	const char *pages = getenv("VERBATIM_SOFT_PAGES");
	bool write = range->access & IBV_ACCESS_LOCAL_WRITE;

	if (pages && !strcmp(pages, "lazy"))
		return pages_populate_ends(range->memory, range->length, write);
	return pages_populate(range->memory, range->length, write);
}

int mr_check_memory(const struct mr_range *range)
{
	uintptr_t from = (uintptr_t)range->memory;
	uint64_t odp = profile_get()->attr.odp_caps.general_caps;
	bool huge = range->access & IBV_ACCESS_HUGETLB;

	if (range->access & IBV_ACCESS_ON_DEMAND && !(odp & IBV_ODP_SUPPORT))
		return EOPNOTSUPP;
	if (is_implicit(range))
		return range->iova || huge || !(odp & IBV_ODP_SUPPORT_IMPLICIT) ? EINVAL : 0;
	if (from + range->length < from || range->length > profile_limits()->max_mr_size)
		return EINVAL;
	/* as in the kernel, which has no page to pin for this range */
	if (!range->length && !(from % sysconf(_SC_PAGESIZE)))
		return EINVAL;
	if (!(range->access & IBV_ACCESS_ON_DEMAND))
		return populate_range(range);
	return huge && !pages_are_huge(range->memory, range->length) ? EINVAL : 0;
}

/* Choose new keys for the slot: they differ from its earlier keys; key.h describes their parts. */
void mr_rekey(struct soft_mr *mr)
{
	static uint16_t generation[SHM_MR_MAX];
	uint32_t slot = mr->mr.handle;
	uint32_t key =
		slot << SHM_KEY_BITS | (++generation[slot] << 1 & ((1u << SHM_KEY_BITS) - 1));

	if (!key)
		key = ++generation[slot] << 1;
	mr->key = key;
}

void mr_publish(struct soft_mr *mr)
{
	mr->mr.lkey = mr->key;
	mr->mr.rkey = key_own_copy(mr->shm)->access & SHM_MR_NULL ? 0 : mr->key | 1;
	key_publish(mr->shm, mr->mr.lkey, mr->mr.rkey);
}

/*
 * Wait until the lock's owner has dropped it. If it is free it is made quiet, and not looked at
 * again until it has been taken: a program may have thousands of queue pairs, and deregisters its
 * regions when it no longer uses them.
 */
static void await_lock_release(struct soft_qp *qp, bool send)
{
	struct lock *lock = send ? &qp->sq.lock : &qp->shm->rq.lock;
	uint64_t *bits = send ? soft_sq_active : segment_own->active;

	if (qp->xrc && !send) /* its users have the lock of the shared queue, too */
		return;
	if (lock_make_quiet(lock, lock_bit(bits, qp->ex.qp_base.handle)))
		return;
	if (!send)
		lock_take(lock);
	else if (!sq_lock(&qp->sq))
		return;
	lock_drop(lock);
}

/*
 * Wait until no request uses a key that it found before. Callers hold the object mutex. A peer that
 * delivers through an XRC queue pair holds the lock of the shared queue.
 */
static void wait_for_users(void)
{
	uint32_t i, srqs = soft_slots_end(&soft_srq_slots);

	/* pairs with that of lock_wake(): it has found the key, or its bit is seen */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < srqs; i++) {
		if (!soft_srqs[i])
			continue;
		lock_take(&soft_srqs[i]->shm->rq.lock);
		lock_drop(&soft_srqs[i]->shm->rq.lock);
	}
	own_qp_each_active(await_lock_release);
}

static void copy_all_payload(void)
{
	uint32_t i, cqs = soft_slots_end(&soft_cq_slots);

	for (i = 0; i < cqs; i++)
		if (soft_cqs[i])
			poll_copy_all_payload(soft_cqs[i]);
}

void mr_withdraw(struct soft_mr *mr)
{
	copy_all_payload();
	key_publish(mr->shm, 0, 0);
	wait_for_users();
}

static int take_slot(struct soft_mr *mr, const struct mr_range *range)
{
	struct shm_mr *own;
	int slot;

	pthread_mutex_lock(&soft_mutex);
	slot = soft_slot(soft_mrs, profile_limits()->max_mr, &slots);
	if (slot >= 0 && key_reserve(slot) < 0)
		slot = -ENOMEM;
	if (slot >= 0) {
		soft_mrs[slot] = mr;
		stage_add_region(slot, range->memory,
				 range->access & SHM_MR_NULL ? 0 : range->length);
		mr->mr.handle = slot;
		mr->shm = &segment_own->mr[slot];
		own = key_own_copy(mr->shm);
		own->addr = (uintptr_t)range->memory;
		own->length = range->length;
		own->iova = range->iova;
		own->access = range->access;
		own->pd = mr->mr.pd->handle;
		mr_rekey(mr);
		mr_publish(mr);
	}
	pthread_mutex_unlock(&soft_mutex);
	return slot < 0 ? slot : 0;
}

struct soft_mr *mr_new(struct ibv_pd *pd, const struct mr_range *range)
{
	struct soft_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return soft_fail(ENOMEM);
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = range->addr;
	mr->mr.length = range->length;
	mr->pd = to_pd(pd);
	soft_twin_init(&mr->twin);
	err = take_slot(mr, range);
	if (err < 0) {
		free(mr);
		return soft_fail(err);
	}
	__atomic_add_fetch(&mr->pd->refs, 1, __ATOMIC_RELAXED);
	return mr;
}

/* The number of bytes in the pages that are pinned for a range. */
static uint64_t pages_of(uint64_t addr, uint64_t length, uint32_t access)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!length || access & (IBV_ACCESS_ON_DEMAND | SHM_MR_NULL))
		return 0;
	return ((addr + length - 1) / page - addr / page + 1) * page;
}

/*
 * With VERBATIM_SOFT_MEMLOCK, apply the same limit as the kernel without CAP_IPC_LOCK. 0 or ENOMEM.
 */
static int check_memlock(const struct mr_range *range)
{
	uint64_t pinned = pages_of((uintptr_t)range->memory, range->length, range->access);
	struct rlimit limit;

	if (!getenv("VERBATIM_SOFT_MEMLOCK") || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return 0;
	pthread_mutex_lock(&soft_mutex);
	for (unsigned int i = 0; i < SHM_MR_MAX; i++) {
		const struct shm_mr *own = soft_mrs[i] ? key_own_copy(soft_mrs[i]->shm) : NULL;

		if (own)
			pinned += pages_of(own->addr, own->length, own->access);
	}
	pthread_mutex_unlock(&soft_mutex);
	return pinned > limit.rlim_cur ? ENOMEM : 0;
}

struct ibv_mr *mr_reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
		      unsigned int access)
{
	struct mr_range range = { addr, addr, length, iova, access };
	struct soft_mr *mr;
	int err;

	err = soft_enter(pd->context, "reg_mr");
	if (err)
		return soft_fail(err);
	if (access & IBV_ACCESS_ZERO_BASED)
		range.iova = 0;
	err = mr_check_access(access);
	if (!err)
		err = mr_check_memory(&range);
	if (!err)
		err = check_memlock(&range);
	if (err)
		return soft_fail(err);
	mr = mr_new(pd, &range);
	return mr ? &mr->mr : NULL;
}

EXPORT struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return mr_reg(pd, addr, length, (uintptr_t)addr, access);
}

EXPORT struct ibv_mr *(ibv_reg_mr_iova)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					int access)
{
	return mr_reg(pd, addr, length, iova, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	return mr_reg(pd, addr, length, iova, access);
}

struct ibv_mr *soft_alloc_null_mr(struct ibv_pd *pd)
{
	struct mr_range range = {
		.length = SIZE_MAX,
		.access = IBV_ACCESS_LOCAL_WRITE | SHM_MR_NULL,
	};
	struct soft_mr *mr;
	int err;

	err = soft_enter(pd->context, "alloc_null_mr");
	if (err)
		return soft_fail(err);
	mr = mr_new(pd, &range);
	return mr ? &mr->mr : NULL;
}

/*
 * Destroy the object, but not the structures that the program still has. Callers hold the object
 * mutex.
 */
static void destroy_mr(struct soft_mr *mr)
{
	struct soft_twin *t = &mr->twin;

	mr_withdraw(mr);
	stage_remove_region(mr->mr.handle);
	soft_mrs[mr->mr.handle] = NULL;
	if (mr->mapping)
		munmap(mr->mapping, mr->mapped);
	__atomic_sub_fetch(&mr->pd->refs, 1, __ATOMIC_RELEASE);
	if (mr->dm)
		mr->dm->refs--;
	if (mr->dmah)
		__atomic_sub_fetch(&mr->dmah->refs, 1, __ATOMIC_RELEASE);
	do {
		container(t, struct soft_mr, twin)->shm = NULL;
		t = t->next;
	} while (t != &mr->twin);
	while ((t = soft_twin_take_left(&mr->twin)))
		free(container(t, struct soft_mr, twin));
}

void mr_replace_slot(struct soft_mr *mr, struct soft_mr *other)
{
	struct soft_mr **slot = &soft_mrs[mr->mr.handle];

	if (*slot == mr)
		*slot = other;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct soft_mr *mr = to_mr(ibmr);
	int err;

	err = soft_enter(ibmr->context, "dereg_mr");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	err = own_qp_has_stuck_lock() ? ETIMEDOUT : 0;
	if (!err)
		err = mr->shm ? window_release_region(mr->shm) : ENOENT;
	if (!err)
		destroy_mr(mr);
	if (!err)
		soft_twin_unlink(&mr->twin);
	pthread_mutex_unlock(&soft_mutex);
	if (!err)
		free(mr);
	return err;
}

void mr_close_all(struct ibv_context *context)
{
	struct soft_mr *mr;
	unsigned int i;

	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < SHM_MR_MAX; i++) {
		mr = soft_mrs[i];
		if (!mr || mr->mr.context != context)
			continue;
		destroy_mr(mr);
		if (mr->twin.left)
			free(mr);
	}
	pthread_mutex_unlock(&soft_mutex);
}

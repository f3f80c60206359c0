/*
 * Memory regions
 *
 * Registering brings the pages in for the access asked for, as pinning does:
 * what is not mapped, or not writable, is refused here with EFAULT.
 *
 * Deregistering first takes the keys away, then waits for everybody who may
 * have found them: payload that is still on its way to a buffer of ours is
 * brought in, and each queue pair's locks are taken once.
 */
#include "shim/soft/soft.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/soft/context.h"
#include "shim/soft/poll.h"
#include "shim/soft/sq.h"
#include "shim/soft/stage.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

enum {
	NEEDS_LOCAL_WRITE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
		IBV_ACCESS_HUGETLB,
};

static uint32_t next_slot;

static int check_access(unsigned int access)
{
	access &= ~IBV_ACCESS_OPTIONAL_RANGE;
	if (access & ~(IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
		       IBV_ACCESS_ON_DEMAND | KNOWN))
		return EINVAL;
	if (access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_ZERO_BASED))
		return EOPNOTSUPP;
	if (access & NEEDS_LOCAL_WRITE && !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

/* Kernels before 5.14 do not, and answer EINVAL as for what is forbidden. */
static bool can_populate(size_t page)
{
	uintptr_t here = (uintptr_t)&next_slot & ~(page - 1);

	return madvise((void *)here, page, MADV_POPULATE_READ) == 0;
}

static int bring_in(void *addr, size_t length, unsigned int access)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)addr & ~(page - 1);
	uintptr_t to = ((uintptr_t)addr + length + page - 1) & ~(page - 1);
	int advice = access & IBV_ACCESS_LOCAL_WRITE ?
		MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if ((uintptr_t)addr + length < (uintptr_t)addr)
		return EINVAL;
	if (!length || madvise((void *)from, to - from, advice) == 0)
		return 0;
	/* then only see that it is mapped */
	if (errno == EINVAL && !can_populate(page) &&
	    msync((void *)from, to - from, MS_ASYNC) == 0)
		return 0;
	return EFAULT;
}

/* Keys change on reuse: see copy.c for their parts. */
static void publish(struct shm_mr *shm, uint32_t slot)
{
	static uint16_t generation[SHM_MR_MAX];
	uint32_t key = slot << SHM_KEY_BITS |
		(++generation[slot] << 1 & ((1u << SHM_KEY_BITS) - 1));

	if (!key)
		key = ++generation[slot] << 1;
	__atomic_store_n(&shm->lkey, key, __ATOMIC_RELEASE);
	__atomic_store_n(&shm->rkey, key | 1, __ATOMIC_RELEASE);
}

static void withdraw(struct shm_mr *shm)
{
	__atomic_store_n(&shm->lkey, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&shm->rkey, 0, __ATOMIC_RELEASE);
}

/* Nobody uses what was found before; under the object mutex. */
static void wait_for_users(void)
{
	struct soft_qp *qp;
	unsigned int i;

	for (i = 0; i < SHM_QP_MAX; i++) {
		qp = soft_qps[i];
		if (!qp)
			continue;
		if (sq_take(&qp->sq))
			lock_drop(&qp->sq.lock);
		lock_take(&qp->shm->rq.lock);
		lock_drop(&qp->shm->rq.lock);
	}
}

static void land_payload(void)
{
	unsigned int i;

	for (i = 0; i < SHM_CQ_MAX; i++)
		if (soft_cqs[i])
			poll_land_all(soft_cqs[i]);
}

static int take_slot(struct soft_mr *mr, uint64_t iova, unsigned int access)
{
	int slot;

	pthread_mutex_lock(&soft_mutex);
	slot = soft_slot(soft_mrs, SHM_MR_MAX, &next_slot);
	if (slot >= 0) {
		__atomic_store_n(&soft_mrs[slot], mr, __ATOMIC_RELEASE);
		mr->shm = &fabric_seg->mr[slot];
		mr->shm->addr = (uintptr_t)mr->mr.addr;
		mr->shm->length = mr->mr.length;
		mr->shm->iova = iova;
		mr->shm->access = access;
		mr->shm->pd = mr->mr.pd->handle;
		publish(mr->shm, slot);
		mr->mr.handle = slot;
		mr->mr.lkey = mr->shm->lkey;
		mr->mr.rkey = mr->shm->rkey;
	}
	pthread_mutex_unlock(&soft_mutex);
	return slot < 0 ? slot : 0;
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t iova, unsigned int access)
{
	struct soft_mr *mr;
	int err;

	if (!soft_ours(pd->context))
		return soft_fail(EIO);
	err = check_access(access);
	if (!err)
		err = bring_in(addr, length, access);
	if (err)
		return soft_fail(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return soft_fail(ENOMEM);
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = addr;
	mr->mr.length = length;
	err = take_slot(mr, iova, access);
	if (err < 0) {
		free(mr);
		return soft_fail(err);
	}
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return &mr->mr;
}

EXPORT struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
				   int access)
{
	return reg(pd, addr, length, (uintptr_t)addr, access);
}

EXPORT struct ibv_mr *(ibv_reg_mr_iova)(struct ibv_pd *pd, void *addr,
					size_t length, uint64_t iova, int access)
{
	return reg(pd, addr, length, iova, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr,
				       size_t length, uint64_t iova,
				       unsigned int access)
{
	return reg(pd, addr, length, iova, access);
}

static void release(struct soft_mr *mr)
{
	withdraw(mr->shm);
	wait_for_users();
	stage_hold();
	__atomic_store_n(&soft_mrs[mr->mr.handle], NULL, __ATOMIC_RELEASE);
	stage_release();
}

EXPORT int ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct soft_mr *mr = container(ibmr, struct soft_mr, mr);

	if (!soft_ours(ibmr->context))
		return EIO;
	pthread_mutex_lock(&soft_mutex);
	land_payload();
	release(mr);
	pthread_mutex_unlock(&soft_mutex);
	__atomic_sub_fetch(&to_pd(ibmr->pd)->refs, 1, __ATOMIC_RELEASE);
	free(mr);
	return 0;
}

static int check_rereg(int flags, struct ibv_mr *mr, struct ibv_pd *pd,
		       int access)
{
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !flags)
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD &&
	    (!pd || pd->context != mr->context))
		return EINVAL;
	return flags & IBV_REREG_MR_CHANGE_ACCESS ? check_access(access) : 0;
}

static void change_pd(struct soft_mr *mr, struct ibv_pd *pd)
{
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&to_pd(mr->mr.pd)->refs, 1, __ATOMIC_RELEASE);
	mr->mr.pd = pd;
	mr->shm->pd = pd->handle;
}

EXPORT int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd,
			void *addr, size_t length, int access)
{
	struct soft_mr *mr = container(ibmr, struct soft_mr, mr);
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	bool changes = flags & IBV_REREG_MR_CHANGE_ACCESS;
	int err;

	if (!soft_ours(ibmr->context)) {
		errno = EIO;
		return IBV_REREG_MR_ERR_INPUT;
	}
	err = check_rereg(flags, ibmr, pd, access);
	if (!err)
		err = bring_in(moves ? addr : ibmr->addr,
			       moves ? length : ibmr->length,
			       changes ? (unsigned int)access : mr->shm->access);
	if (err) {
		errno = err;
		return IBV_REREG_MR_ERR_INPUT;
	}
	pthread_mutex_lock(&soft_mutex);
	land_payload();
	withdraw(mr->shm);
	wait_for_users();
	if (flags & IBV_REREG_MR_CHANGE_PD)
		change_pd(mr, pd);
	if (changes)
		mr->shm->access = access;
	if (moves) {
		stage_hold();
		ibmr->addr = addr;
		ibmr->length = length;
		stage_release();
		mr->shm->addr = mr->shm->iova = (uintptr_t)addr;
		mr->shm->length = length;
	}
	publish(mr->shm, ibmr->handle);
	ibmr->lkey = mr->shm->lkey;
	ibmr->rkey = mr->shm->rkey;
	pthread_mutex_unlock(&soft_mutex);
	return 0;
}

void mr_close_all(struct ibv_context *context)
{
	unsigned int i;

	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < SHM_MR_MAX; i++)
		if (soft_mrs[i] && soft_mrs[i]->mr.context == context)
			release(soft_mrs[i]);
	pthread_mutex_unlock(&soft_mutex);
}

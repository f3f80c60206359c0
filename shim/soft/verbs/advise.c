/*
 * Advice about on-demand regions: faulting pages in before they are used
 *
 * Without IBV_ADVISE_MR_FLAG_FLUSH the pages may be faulted in later or never, so only wrong keys
 * and ranges are errors. The device looks up pages at each use, so pages that are present need no
 * advice (PREFETCH_NO_FAULT).
 *
 * A region that is not on demand gives ENOENT: the man page has no errno for this, and mlx5, which
 * searches only the keys of on-demand regions, does not find it (mlx5_ib_advise_mr of Linux 6.1).
 *
 * Source: ibv_advise_mr(3).
 */

#include "shim/soft/verbs/advise.h"

#include "shim/soft/fabric/pages.h"
#include "shim/soft/verbs/enter.h"

/* Callers hold the object mutex. */
static int check_region(const struct soft_mr *mr, const struct ibv_pd *pd,
			const struct ibv_sge *sge, bool write)
{
	uint64_t off;

	if (!mr || !mr->shm)
		return EFAULT;
	if (mr->shm->lkey != sge->lkey || !(mr->shm->access & IBV_ACCESS_ON_DEMAND))
		return ENOENT;
	if (mr->shm->pd != pd->handle)
		return EPERM;
	if (write && !(mr->shm->access & IBV_ACCESS_LOCAL_WRITE))
		return EPERM;
	off = sge->addr - mr->shm->iova;
	return off > mr->shm->length || sge->length > mr->shm->length - off ? EFAULT : 0;
}

static int find_range(const struct ibv_pd *pd, const struct ibv_sge *sge, bool write,
		      void **ret_addr)
{
	uint32_t slot = sge->lkey >> SHM_KEY_BITS;
	struct soft_mr *mr;
	int err;

	if (slot >= SHM_MR_MAX)
		return EINVAL; /* the key of a window */
	pthread_mutex_lock(&soft_mutex);
	mr = soft_mrs[slot];
	err = check_region(mr, pd, sge, write);
	if (!err)
		*ret_addr = (void *)(uintptr_t)(mr->shm->addr + (sge->addr - mr->shm->iova));
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

static int check_advice(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			struct ibv_sge *sg_list, uint32_t num_sge)
{
	int err;

	err = soft_enter(pd->context, "advise_mr");
	if (err)
		return err;
	switch (advice) {
	case IBV_ADVISE_MR_ADVICE_PREFETCH:
	case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
	case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		break;
	default:
		return ENOTSUP;
	}
	return flags & ~IBV_ADVISE_MR_FLAG_FLUSH || !sg_list || !num_sge ? EINVAL : 0;
}

int soft_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg_list, uint32_t num_sge)
{
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	void *addr;
	uint32_t i;
	int err;

	err = check_advice(pd, advice, flags, sg_list, num_sge);
	for (i = 0; !err && i < num_sge; i++)
		err = find_range(pd, &sg_list[i], write, &addr);
	if (err || advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return err;
	for (i = 0; i < num_sge; i++) {
		if (find_range(pd, &sg_list[i], write, &addr))
			continue; /* deregistered in between */
		err = pages_populate(addr, sg_list[i].length, write);
		if (err && flags & IBV_ADVISE_MR_FLAG_FLUSH)
			return EFAULT;
	}
	return 0;
}

/*
 * Changing a memory region
 *
 * The error code says whether the region is still valid: ibv_rereg_mr(3). Invalid arguments do not
 * change the region. After an error that a driver detects only while it executes the command
 * (missing pages, access flags that exclude each other), the region has no keys: "MR shouldn't be
 * used".
 *
 * A change of only access or protection domain does not change the keys, which peers may know; new
 * memory gets new keys.
 *
 * The two errors about fork occur if fork support is enabled (fork.c) and a range that is not
 * mapped must be excluded from children, or included again.
 */
#include "shim/soft/verbs/mr.h"

#include "shim/soft/fabric/pages.h"
#include "shim/soft/fabric/stage.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/fork.h"

static int check_input(struct soft_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		       int access)
{
	int err;

	err = soft_enter(mr->mr.context, "rereg_mr");
	if (err)
		return err;
	if (mr->imported || mr->mapping || !mr->shm || key_own_copy(mr->shm)->access & SHM_MR_NULL)
		return EINVAL;
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))
		return EINVAL;
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->context != mr->mr.context))
		return EINVAL;
	return 0;
}

static int check_command(struct soft_mr *mr, int flags, const struct mr_range *range)
{
	int err;

	if (!flags || mr->dm)
		return EINVAL;
	err = mr_check_access(range->access);
	return err ? err : mr_check_memory(range);
}

/* The range that the region will have. */
static struct mr_range wanted_range(struct soft_mr *mr, int flags, void *addr, size_t length,
				    int access)
{
	const struct shm_mr *own = &key_own[mr->mr.handle];
	struct mr_range range = {
		.addr = mr->mr.addr,
		.memory = (void *)(uintptr_t)own->addr,
		.length = own->length,
		.iova = own->iova,
		.access = own->access,
	};

	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		range.access = access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		range.addr = range.memory = addr;
		range.length = length;
		range.iova = range.access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
	}
	return range;
}

static void change_pd(struct soft_mr *mr, struct ibv_pd *pd)
{
	struct soft_twin *t = &mr->twin;

	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&mr->pd->refs, 1, __ATOMIC_RELEASE);
	mr->mr.pd = pd;
	key_own_copy(mr->shm)->pd = pd->handle;
	do {
		container(t, struct soft_mr, twin)->pd = to_pd(pd);
		t = t->next;
	} while (t != &mr->twin);
}

static void change_range(struct soft_mr *mr, const struct mr_range *range)
{
	stage_move_region(mr->mr.handle, range->memory, range->length);
	mr->mr.addr = range->addr;
	mr->mr.length = range->length;
	key_own_copy(mr->shm)->addr = (uintptr_t)range->memory;
	key_own_copy(mr->shm)->length = range->length;
	key_own_copy(mr->shm)->iova = range->iova;
	key_own_copy(mr->shm)->access = range->access;
	mr_publish(mr);
}

static int fail_errno(int err, int code)
{
	errno = err;
	return code;
}

EXPORT int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr,
			size_t length, int access)
{
	struct soft_mr *mr = to_mr(ibmr);
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	void *old_addr = ibmr->addr;
	size_t old_length = ibmr->length;
	struct mr_range range;
	int err, busy;

	err = check_input(mr, flags, pd, addr, length, access);
	if (err)
		return fail_errno(err, IBV_REREG_MR_ERR_INPUT);
	if (moves && fork_is_protected() && !pages_are_mapped(addr, length))
		return fail_errno(ENOMEM, IBV_REREG_MR_ERR_DONT_FORK_NEW);
	range = wanted_range(mr, flags, addr, length, access);
	err = check_command(mr, flags, &range);

	pthread_mutex_lock(&soft_mutex);
	busy = own_qp_has_stuck_lock() ? ETIMEDOUT : window_release_region(mr->shm);
	if (busy) {
		pthread_mutex_unlock(&soft_mutex);
		return fail_errno(busy, IBV_REREG_MR_ERR_INPUT);
	}
	mr_withdraw(mr);
	if (!err && flags & IBV_REREG_MR_CHANGE_PD)
		change_pd(mr, pd);
	if (!err && moves)
		mr_rekey(mr);
	if (!err)
		change_range(mr, &range);
	pthread_mutex_unlock(&soft_mutex);
	if (err)
		return fail_errno(err, IBV_REREG_MR_ERR_CMD);
	if (moves && fork_is_protected() && !pages_are_mapped(old_addr, old_length))
		return fail_errno(ENOMEM, IBV_REREG_MR_ERR_DO_FORK_OLD);
	return 0;
}

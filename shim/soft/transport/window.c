/*
 * Memory windows
 *
 * A window is an entry in the table of memory regions, in separate slots: it has an rkey while it
 * is bound, and never an lkey. The bind copies the region's data that remote access needs, so
 * access through a window is as fast as to the region. Its keys:
 *
 *	| slot: 17 | generation: 7 | the program's: 8 |
 *
 * A window of type 2 belongs to the queue pair on which it was bound. It is changed under the lock
 * of this queue pair, by the owning process or by a peer that invalidates it. A window of type 1
 * can be used by all queue pairs of its protection domain: a new bind waits until no request uses
 * the old one.
 *
 * Source: ibv_alloc_mw(3), ibv_bind_mw(3), IBA 10.6.7.
 */
#include "shim/soft/transport/window.h"

#include <errno.h>
#include <string.h>

#include "shim/soft/fabric/key.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/segment.h"

enum {
	KEY_PROGRAM = 0xff,
	NEEDS_WRITABLE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	RIGHTS = NEEDS_WRITABLE | IBV_ACCESS_REMOTE_READ,
	KNOWN = RIGHTS | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED,
	OF_REGION = IBV_ACCESS_ON_DEMAND,
};

/*
 * Protects the table, binding and the release of regions. Taken after the lock of a send queue,
 * before those of queue pairs.
 */
static struct lock lock;
static struct soft_slots slots;
static uint32_t count;

void window_forget(void)
{
	lock.owner = 0;
	count = 0;
	memset(soft_mws, 0, sizeof(soft_mws));
}

static void set_rkey(struct soft_mw *mw, uint32_t rkey)
{
	key_publish(mw->shm, 0, rkey);
}

static bool is_bound(const struct soft_mw *mw)
{
	return __atomic_load_n(&mw->shm->rkey, __ATOMIC_ACQUIRE);
}

/*
 * Unbind a window. Its other fields do not change: a peer that has found the entry may still read
 * it.
 */
static void unbind_window(struct soft_mw *mw)
{
	set_rkey(mw, 0);
	__atomic_store_n(&mw->shm->bound, 0, __ATOMIC_RELAXED);
}

/*
 * Wait for peers that may have found an rkey: each holds the lock of one of this process's queue
 * pairs.
 */
static void wait_for_users(void)
{
	struct lock *users;
	unsigned int i;

	for (i = 0; i < SHM_QP_MAX; i++) {
		if (!__atomic_load_n(&soft_qps[i], __ATOMIC_ACQUIRE))
			continue;
		users = &segment_own->qp[i].rq.lock;
		lock_take(users);
		lock_drop(users);
	}
}

/* Assign a slot. When it is reused, the generation in its keys changes. */
static void assign_slot(struct soft_mw *mw, uint32_t slot)
{
	static uint8_t generation[SHM_MW_MAX];

	mw->key = (SHM_MR_MAX + slot) << SHM_KEY_BITS | (++generation[slot] & 0x7fu) << 8;
	mw->shm = &segment_own->mr[SHM_MR_MAX + slot];
	key_own_copy(mw->shm)->pd = mw->mw.pd->handle;
	key_own_copy(mw->shm)->qpn = 0;
	mw->mw.rkey = mw->key;
	mw->mw.handle = slot;
}

int window_add(struct soft_mw *mw)
{
	int slot;

	lock_take(&lock);
	slot = soft_slot(soft_mws, profile_limits()->max_mw, &slots);
	if (slot >= 0 && key_reserve(SHM_MR_MAX + slot) < 0)
		slot = -ENOMEM;
	if (slot >= 0) {
		assign_slot(mw, slot);
		soft_mws[slot] = mw;
		count++;
	}
	lock_drop(&lock);
	return slot < 0 ? slot : 0;
}

/* Callers hold the lock. */
static void withdraw_window(struct soft_mw *mw)
{
	unbind_window(mw);
	wait_for_users();
	soft_mws[mw->mw.handle] = NULL;
	count--;
}

void window_remove(struct soft_mw *mw)
{
	lock_take(&lock);
	withdraw_window(mw);
	lock_drop(&lock);
}

void window_close_all(struct ibv_context *context)
{
	unsigned int i;

	lock_take(&lock);
	for (i = 0; count && i < SHM_MW_MAX; i++)
		if (soft_mws[i] && soft_mws[i]->mw.context == context)
			withdraw_window(soft_mws[i]);
	lock_drop(&lock);
}

int window_set_bind(struct soft_wr *wr, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	if (!mw || (!info->mr && (info->addr || info->length)))
		return EINVAL;
	/* the rkey of another window finds no window */
	wr->rkey = (rkey ^ to_mw(mw)->key) & ~KEY_PROGRAM ? 0 : rkey;
	wr->region = info->mr ? info->mr->lkey : 0;
	wr->bind_addr = info->addr;
	wr->bind_length = info->length;
	wr->imm = info->mw_access_flags;
	return 0;
}

static struct soft_mw *find_window(uint32_t rkey)
{
	uint32_t slot = (rkey >> SHM_KEY_BITS) - SHM_MR_MAX;
	struct soft_mw *mw = slot < SHM_MW_MAX ? soft_mws[slot] : NULL;

	return mw && !((rkey ^ mw->key) & ~KEY_PROGRAM) ? mw : NULL;
}

/* The region of @lkey; NULL if it was deregistered, or is about to be (window_release_region()). */
static const struct shm_mr *find_region(uint32_t lkey)
{
	uint32_t slot = lkey >> SHM_KEY_BITS;
	const struct shm_mr *mr = &segment_own->mr[slot];

	return shm_has_mr(segment_own, slot) &&
			       __atomic_load_n(&mr->lkey, __ATOMIC_ACQUIRE) == lkey &&
			       __atomic_load_n(&mr->rkey, __ATOMIC_ACQUIRE)
		       ? &key_own[slot]
		       : NULL;
}

static bool is_in_region(const struct shm_mr *mr, const struct soft_wr *wr)
{
	uint64_t off = wr->bind_addr - mr->iova;

	return off <= mr->length && wr->bind_length <= mr->length - off;
}

/* The rules C10-72 to C10-75. */
static bool may_bind(const struct shm_mr *mr, const struct soft_mw *mw, const struct soft_wr *wr)
{
	return mr && mr->pd == key_own_copy(mw->shm)->pd && mr->access & IBV_ACCESS_MW_BIND &&
	       !(mr->access & IBV_ACCESS_ZERO_BASED) && !(wr->imm & ~KNOWN) &&
	       (!(wr->imm & NEEDS_WRITABLE) || mr->access & IBV_ACCESS_LOCAL_WRITE) &&
	       is_in_region(mr, wr);
}

static void fill_window(struct soft_mw *mw, const struct shm_mr *mr, const struct soft_wr *wr)
{
	struct shm_mr *shm = key_own_copy(mw->shm);

	shm->addr = mr->addr + (wr->bind_addr - mr->iova);
	shm->length = wr->bind_length;
	shm->iova = wr->imm & IBV_ACCESS_ZERO_BASED ? 0 : wr->bind_addr;
	shm->access = (wr->imm & RIGHTS) | (mr->access & OF_REGION);
	mw->region = wr->region;
}

static bool bind_type_1(struct soft_mw *mw, const struct shm_mr *mr, const struct soft_wr *wr)
{
	if (wr->bind_length && !may_bind(mr, mw, wr))
		return false;
	unbind_window(mw);
	wait_for_users();
	if (wr->bind_length) {
		fill_window(mw, mr, wr);
		set_rkey(mw, wr->rkey);
	}
	return true;
}

/*
 * Bind a window of type 2: not while it is bound (o10-37.2.30), and not with length 0
 * (o10-37.2.40).
 */
static bool bind_type_2(struct soft_qp *qp, struct soft_mw *mw, const struct shm_mr *mr,
			const struct soft_wr *wr)
{
	if (is_bound(mw) || !wr->bind_length || !may_bind(mr, mw, wr))
		return false;
	fill_window(mw, mr, wr);
	key_own_copy(mw->shm)->qpn = qp->shm->qpn;
	__atomic_store_n(&mw->shm->bound, wr->rkey, __ATOMIC_RELAXED);
	set_rkey(mw, wr->rkey);
	return true;
}

static bool bind_window(struct soft_qp *qp, const struct soft_wr *wr)
{
	const struct shm_mr *mr = find_region(wr->region);
	struct soft_mw *mw = find_window(wr->rkey);

	if (!mw || key_own_copy(mw->shm)->pd != qp->shm->pd)
		return false;
	return mw->mw.type == IBV_MW_TYPE_1 ? bind_type_1(mw, mr, wr) : bind_type_2(qp, mw, mr, wr);
}

bool window_invalidate(struct shm_seg *seg, const struct shm_qp *qp, uint32_t rkey)
{
	uint32_t slot = rkey >> SHM_KEY_BITS;
	struct shm_mr *mw = &seg->mr[slot];

	if (!shm_has_mr(seg, slot) || __atomic_load_n(&mw->bound, __ATOMIC_RELAXED) != rkey ||
	    mw->qpn != qp->qpn)
		return false;
	__atomic_store_n(&mw->rkey, 0, __ATOMIC_RELEASE);
	return true;
}

static bool invalidate_own(struct soft_qp *qp, uint32_t rkey)
{
	bool done;

	lock_take(&qp->shm->rq.lock);
	done = window_invalidate(segment_own, qp->shm, rkey);
	lock_drop(&qp->shm->rq.lock);
	return done;
}

int window_execute(struct soft_qp *qp, const struct soft_wr *wr)
{
	bool done;

	lock_take(&lock);
	if (wr->opcode == IBV_WR_BIND_MW)
		done = bind_window(qp, wr);
	else
		done = invalidate_own(qp, wr->imm);
	lock_drop(&lock);
	return done ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}

void window_reset_qp(struct soft_qp *qp)
{
	unsigned int i;

	if (!__atomic_load_n(&count, __ATOMIC_RELAXED))
		return;
	lock_take(&lock);
	lock_take(&qp->shm->rq.lock);
	for (i = 0; i < SHM_MW_MAX; i++)
		if (soft_mws[i] && soft_mws[i]->shm->qpn == qp->shm->qpn)
			unbind_window(soft_mws[i]);
	lock_drop(&qp->shm->rq.lock);
	lock_drop(&lock);
}

static bool has_window(const struct shm_mr *region)
{
	unsigned int i;

	for (i = 0; count && i < SHM_MW_MAX; i++)
		if (soft_mws[i] && is_bound(soft_mws[i]) && soft_mws[i]->region == region->lkey)
			return true;
	return false;
}

int window_release_region(struct shm_mr *region)
{
	int err = EBUSY;

	lock_take(&lock);
	if (!has_window(region)) {
		__atomic_store_n(&region->rkey, 0, __ATOMIC_RELEASE);
		err = 0;
	}
	lock_drop(&lock);
	return err;
}

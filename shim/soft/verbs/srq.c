/*
 * Shared receive queues
 *
 * An XRC shared queue has its own number, domain and completion queue, since the queue pairs that
 * deliver to it have no completion queue. A shared queue with tag matching (tag_list.c) also has a
 * completion queue, where all messages of its queue pairs complete.
 */
#include "shim/soft/verbs/srq.h"

#include <stdlib.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/tag_list.h"
#include "shim/soft/verbs/dead.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/event.h"
#include "shim/soft/verbs/poll.h"

static void drop_xrc(struct soft_srq *srq)
{
	if (!srq->xrcd)
		return;
	srq->xrcd->refs--;
	srq->cq->refs--;
}

static void drop_tags(struct soft_srq *srq)
{
	if (!srq->tags)
		return;
	tag_list_free(srq);
	srq->cq->refs--;
}

static int add_tags(struct soft_srq *srq, const struct ibv_tm_cap *cap)
{
	int err = cap ? tag_list_make(srq, cap) : 0;

	if (err < 0 || !cap)
		return err;
	srq->shm->cq = srq->cq->ex.handle;
	srq->cq->refs++;
	return 0;
}

static int number_srq(struct soft_srq *srq, uint32_t slot)
{
	struct shm_srq *shm = srq->shm;

	if (!srq->xrcd)
		return 0;
	shm->xrcd = srq->xrcd->id;
	shm->cq = srq->cq->ex.handle;
	srq->xrcd->refs++;
	srq->cq->refs++;
	return registry_add_number(REGISTRY_SRQ, slot, &shm->srqn);
}

static int fill_slot(struct soft_srq *srq, uint32_t slot, const struct ibv_srq_attr *attr,
		     const struct ibv_tm_cap *tm_cap)
{
	struct shm_srq *shm = &segment_own->srq[slot];
	uint32_t i;
	int err;

	/* the queue's lock is not initialised: see rq_make() */
	if (segment_reserve(shm, sizeof(*shm)) < 0)
		return -ENOMEM;
	memset(shm, 0, offsetof(struct shm_srq, rq));
	err = rq_make(&shm->rq, attr->max_wr, attr->max_sge, true, &srq->rq);
	if (err < 0)
		return err;
	srq->shm = shm;
	srq->max_wr = attr->max_wr;
	srq->slots = attr->max_wr;
	for (i = 0; i < attr->max_wr; i++)
		srq->free[i] = attr->max_wr - 1 - i;
	srq->num_free = attr->max_wr;
	shm->pd = srq->srq.pd->handle;
	shm->async = to_context(srq->srq.context)->async;
	shm->serial = soft_serial();
	srq->srq.handle = slot;
	err = number_srq(srq, slot);
	if (!err)
		err = add_tags(srq, tm_cap);
	if (err < 0) {
		rq_free(&srq->rq);
		drop_xrc(srq);
		return err;
	}
	__atomic_store_n(&soft_srqs[slot], srq, __ATOMIC_RELEASE);
	return 0;
}

static int take_slot(struct soft_srq *srq, const struct ibv_srq_attr *attr,
		     const struct ibv_tm_cap *tm_cap)
{
	int slot, err;

	pthread_mutex_lock(&soft_mutex);
	slot = soft_slot(soft_srqs, profile_limits()->max_srq, &soft_srq_slots);
	err = slot < 0 ? slot : fill_slot(srq, slot, attr, tm_cap);
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

static int check_attr(const struct ibv_srq_attr *attr)
{
	const struct ibv_device_attr *limits = profile_limits();

	return attr->max_wr < 1 || attr->max_wr > (uint32_t)limits->max_srq_wr ||
			       attr->max_sge > (uint32_t)limits->max_srq_sge
		       ? EINVAL
		       : 0;
}

static struct ibv_srq *make_srq(struct ibv_pd *pd, void *srq_context,
				const struct ibv_srq_attr *attr, struct soft_xrcd *xrcd,
				struct soft_cq *cq, const struct ibv_tm_cap *tm_cap)
{
	struct soft_srq *srq;
	int err;

	err = soft_enter(pd->context, "create_srq");
	if (err)
		return soft_fail(err);
	err = check_attr(attr);
	if (err)
		return soft_fail(err);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return soft_fail(ENOMEM);
	srq->xrcd = xrcd;
	srq->cq = cq;
	srq->srq.context = pd->context;
	srq->srq.srq_context = srq_context;
	srq->srq.pd = pd;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	srq->free = calloc(attr->max_wr, sizeof(*srq->free));
	err = srq->free ? take_slot(srq, attr, tm_cap) : -ENOMEM;
	if (err < 0) {
		free(srq->free);
		free(srq);
		return soft_fail(err);
	}
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return &srq->srq;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return make_srq(pd, attr->srq_context, &attr->attr, NULL, NULL, NULL);
}

static bool is_cq_of_context(const struct ibv_cq *cq, const struct ibv_context *context)
{
	return cq && cq->context == context;
}

/* Check the attributes for tag matching. Its CQ must be an extended one, as with mlx5. */
static int check_tags(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	const struct ibv_tm_caps *caps = &profile_get()->attr.tm_caps;

	if (!(caps->flags & IBV_TM_CAP_RC))
		return EOPNOTSUPP;
	return !is_cq_of_context(attr->cq, context) || !to_cq(attr->cq)->extended ||
			       !attr->tm_cap.max_num_tags ||
			       attr->tm_cap.max_num_tags > caps->max_num_tags ||
			       attr->tm_cap.max_ops > caps->max_ops
		       ? EINVAL
		       : 0;
}

static int check_xrc(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	return !is_cq_of_context(attr->cq, context) || !attr->xrcd || attr->xrcd->context != context
		       ? EINVAL
		       : 0;
}

/*
 * Attributes that a type requires in addition to its PD; others are ignored, as in libmlx5, libmlx4
 * and librxe.
 */
static uint32_t mask_of(enum ibv_srq_type type)
{
	switch (type) {
	case IBV_SRQT_XRC:
		return IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	case IBV_SRQT_TM:
		return IBV_SRQ_INIT_ATTR_TM | IBV_SRQ_INIT_ATTR_CQ;
	default:
		return 0;
	}
}

static enum ibv_srq_type type_of(const struct ibv_srq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;
}

static int check_ex(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = type_of(attr);

	if (attr->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED || type > IBV_SRQT_TM)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context || (attr->comp_mask & mask_of(type)) != mask_of(type))
		return EINVAL;
	switch (type) {
	case IBV_SRQT_XRC:
		return check_xrc(context, attr);
	case IBV_SRQT_TM:
		return check_tags(context, attr);
	default:
		return 0;
	}
}

struct ibv_srq *soft_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = type_of(attr);
	int err;

	err = check_ex(context, attr);
	if (err)
		return soft_fail(err);
	return make_srq(attr->pd, attr->srq_context, &attr->attr,
			type == IBV_SRQT_XRC ? to_xrcd(attr->xrcd) : NULL,
			type != IBV_SRQT_BASIC ? to_cq(attr->cq) : NULL,
			type == IBV_SRQT_TM ? &attr->tm_cap : NULL);
}

/* Operations on the list of a queue with tag matching; other queues have no list. */
int soft_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr)
{
	struct soft_srq *srq = to_srq(ibsrq);
	int err;

	err = soft_enter(ibsrq->context, "post_srq_ops");
	if (!err && !srq->tags)
		err = EINVAL;
	if (err) {
		*bad_wr = wr;
		return err;
	}
	lock_take(&srq->posting);
	lock_take(&srq->shm->rq.lock);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = tag_list_post(srq, wr);
	lock_drop(&srq->shm->rq.lock);
	lock_drop(&srq->posting);
	if (err)
		*bad_wr = wr;
	return err;
}

int soft_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	struct soft_srq *srq = to_srq(ibsrq);

	int err;

	err = soft_enter(ibsrq->context, "get_srq_num");
	if (err)
		return err;
	if (!srq->xrcd)
		return EINVAL;
	*srq_num = srq->shm->srqn;
	return 0;
}

static int check_change(struct soft_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->max_wr;
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : srq->shm->rq.limit;

	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) || limit > max_wr)
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR && !(profile_limits()->device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		return EOPNOTSUPP;
	if (max_wr < 1 || max_wr > (uint32_t)profile_limits()->max_srq_wr ||
	    max_wr < srq->slots - srq->num_free)
		return EINVAL;
	return 0;
}

/* Resize a queue. Shrinking changes only the limit of requests: their slots remain. */
static int resize_srq(struct soft_srq *srq, uint32_t max_wr)
{
	uint32_t *free_slots;

	if (max_wr > srq->slots) {
		free_slots = realloc(srq->free, max_wr * sizeof(*srq->free));
		if (!free_slots)
			return ENOMEM;
		srq->free = free_slots;
		if (rq_grow(&srq->rq, max_wr) < 0)
			return ENOMEM;
		while (srq->slots < max_wr)
			srq->free[srq->num_free++] = srq->slots++;
	}
	srq->max_wr = max_wr;
	return 0;
}

/* Arm the limit. If the queue is already below it, the event is sent at once. */
static void arm_limit(struct soft_srq *srq, uint32_t limit)
{
	struct shm_rq *rq = &srq->shm->rq;

	rq->limit = limit;
	if (limit && rq->prod - rq->taken < limit)
		deliver_srq_limit(segment_own, srq->shm);
}

static int modify_srq_locked(struct soft_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	int err = check_change(srq, attr, mask);

	if (!err && mask & IBV_SRQ_MAX_WR)
		err = resize_srq(srq, attr->max_wr);
	if (!err && mask & IBV_SRQ_LIMIT)
		arm_limit(srq, attr->srq_limit);
	return err;
}

EXPORT int ibv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct soft_srq *srq = to_srq(ibsrq);
	int err;

	err = soft_enter(ibsrq->context, "modify_srq");
	if (err)
		return err;
	if (lock_is_stuck(&srq->shm->rq.lock))
		return ETIMEDOUT;
	pthread_mutex_lock(&soft_mutex);
	lock_take(&srq->posting);
	lock_take(&srq->shm->rq.lock);
	err = modify_srq_locked(srq, attr, mask);
	lock_drop(&srq->shm->rq.lock);
	lock_drop(&srq->posting);
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

EXPORT int ibv_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct soft_srq *srq = to_srq(ibsrq);
	int err;

	err = soft_enter(ibsrq->context, "query_srq");
	if (err)
		return err;
	lock_take(&srq->posting);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = __atomic_load_n(&srq->shm->rq.limit, __ATOMIC_RELAXED);
	lock_drop(&srq->posting);
	return 0;
}

static void purge_completions(struct soft_srq *srq)
{
	uint32_t i, cqs = soft_slots_end(&soft_cq_slots);

	for (i = 0; i < cqs; i++)
		if (soft_cqs[i])
			poll_purge_srq(soft_cqs[i], srq);
}

/* Callers hold the object mutex. */
static void withdraw_srq(struct soft_srq *srq)
{
	if (srq->xrcd)
		registry_del_number(srq->shm->srqn);
	lock_take(&srq->shm->rq.lock);
	srq->shm->srqn = UINT32_MAX; /* so that peers that have found the queue look it up again */
	lock_drop(&srq->shm->rq.lock);
	purge_completions(srq);
	__atomic_store_n(&soft_srqs[srq->srq.handle], NULL, __ATOMIC_RELEASE);
	pipe_purge(srq->shm->async, PIPE_SRQ, srq->srq.handle, srq->shm->serial);
	srq->shm->serial = 0;
	rq_free(&srq->rq);
	drop_xrc(srq);
	drop_tags(srq);
}

EXPORT int ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct soft_srq *srq = to_srq(ibsrq);
	int err;

	err = soft_enter(ibsrq->context, "destroy_srq");
	if (err)
		return err;
	if (lock_is_stuck(&srq->shm->rq.lock))
		return ETIMEDOUT;
	pthread_mutex_lock(&soft_mutex);
	if (srq->refs) {
		pthread_mutex_unlock(&soft_mutex);
		return EBUSY;
	}
	withdraw_srq(srq);
	pthread_mutex_unlock(&soft_mutex);
	event_wait_acks(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed, srq->events);
	__atomic_sub_fetch(&to_pd(ibsrq->pd)->refs, 1, __ATOMIC_RELEASE);
	free(srq->free);
	dead_retain(srq, &srq->srq.context);
	return 0;
}

void srq_close_all(struct ibv_context *context)
{
	unsigned int i;

	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < SHM_SRQ_MAX; i++)
		if (soft_srqs[i] && soft_srqs[i]->srq.context == context)
			withdraw_srq(soft_srqs[i]);
	pthread_mutex_unlock(&soft_mutex);
}

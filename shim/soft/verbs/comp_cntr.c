/*
 * Completion counters: create, destroy, change, read, and attach to queue pairs
 *
 * A counter is two numbers in the segment, incremented by the process that executes a request
 * (transport/count.c). The object has the number of attached queue pairs, by kind of request.
 *
 * Source: ibv_create_comp_cntr(3), ibv_qp_attach_comp_cntr(3), ibv_query_comp_cntr_caps(3).
 */
#include "shim/soft/verbs/comp_cntr.h"

#include <stdlib.h>

#include "shim/soft/transport/pending.h"
#include "shim/soft/verbs/newer.h"

enum { ALL_OPS = (1 << SHM_COUNTED) - 1 };

static struct soft_comp_cntr *all[SHM_COMP_CNTR_MAX];

int soft_query_comp_cntr_caps(struct ibv_context *context, struct soft_comp_cntr_caps *caps,
			      size_t size)
{
	const struct soft_comp_cntr_caps have = {
		.max_value = UINT64_MAX,
		.max_counters = SHM_COMP_CNTR_MAX,
		.supported_qp_attach_ops = ALL_OPS,
	};
	int err = soft_enter(context, "query_comp_cntr_caps");

	if (!err && size < sizeof(have))
		err = EINVAL;
	if (err)
		return err;
	memset(caps, 0, size);
	memcpy(caps, &have, sizeof(have));
	return 0;
}

static int check_attr(struct ibv_context *context, const struct soft_comp_cntr_init_attr *attr)
{
	int err = soft_enter(context, "create_comp_cntr");

	if (err)
		return err;
	if (attr->comp_mask)
		return EOPNOTSUPP;
	return attr->flags || attr->type > COMP_CNTR_BYTES ? EINVAL : 0;
}

/* Callers hold the object mutex. */
static int take_slot(struct soft_comp_cntr *cntr, bool bytes)
{
	uint32_t slot = 0;

	while (slot < SHM_COMP_CNTR_MAX && all[slot])
		slot++;
	if (slot == SHM_COMP_CNTR_MAX)
		return -ENOMEM;
	cntr->shm = &segment_own->comp_cntr[slot];
	if (segment_reserve(cntr->shm, sizeof(*cntr->shm)) < 0)
		return -ENOMEM;
	*cntr->shm = (struct shm_comp_cntr){ .bytes = bytes };
	cntr->handle = slot;
	all[slot] = cntr;
	return 0;
}

struct soft_comp_cntr *soft_create_comp_cntr(struct ibv_context *context,
					     struct soft_comp_cntr_init_attr *attr)
{
	int err = check_attr(context, attr);
	struct soft_comp_cntr *cntr;

	if (err)
		return soft_fail(err);
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return soft_fail(ENOMEM);
	cntr->context = context;
	pthread_mutex_lock(&soft_mutex);
	err = take_slot(cntr, attr->type == COMP_CNTR_BYTES);
	pthread_mutex_unlock(&soft_mutex);
	if (err) {
		free(cntr);
		return soft_fail(err);
	}
	return cntr;
}

int soft_destroy_comp_cntr(struct soft_comp_cntr *cntr)
{
	int err = soft_enter(cntr->context, "destroy_comp_cntr");

	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	if (cntr->refs)
		err = EBUSY;
	else if (cntr->shm)
		all[cntr->handle] = NULL;
	pthread_mutex_unlock(&soft_mutex);
	if (!err)
		free(cntr);
	return err;
}

int soft_set_comp_cntr(struct soft_comp_cntr *cntr, uint64_t value)
{
	int err = soft_enter(cntr->context, "set_comp_cntr");

	if (!err)
		__atomic_store_n(&cntr->shm->done, value, __ATOMIC_RELEASE);
	return err;
}

int soft_set_err_comp_cntr(struct soft_comp_cntr *cntr, uint64_t value)
{
	int err = soft_enter(cntr->context, "set_err_comp_cntr");

	if (!err)
		__atomic_store_n(&cntr->shm->errors, value, __ATOMIC_RELEASE);
	return err;
}

int soft_inc_comp_cntr(struct soft_comp_cntr *cntr, uint64_t amount)
{
	int err = soft_enter(cntr->context, "inc_comp_cntr");

	if (!err)
		__atomic_add_fetch(&cntr->shm->done, amount, __ATOMIC_RELEASE);
	return err;
}

int soft_inc_err_comp_cntr(struct soft_comp_cntr *cntr, uint64_t amount)
{
	int err = soft_enter(cntr->context, "inc_err_comp_cntr");

	if (!err)
		__atomic_add_fetch(&cntr->shm->errors, amount, __ATOMIC_RELEASE);
	return err;
}

/*
 * Read a value. A program that reads counters instead of polling must make progress like one that
 * polls.
 */
static uint64_t read_value(const uint64_t *value)
{
	if (pending_any())
		pending_try();
	pending_network();
	/* pairs with the additions of count_traffic() */
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

int soft_read_comp_cntr(struct soft_comp_cntr *cntr, uint64_t *value)
{
	int err = soft_enter(cntr->context, "read_comp_cntr");

	if (!err)
		*value = read_value(&cntr->shm->done);
	return err;
}

int soft_read_err_comp_cntr(struct soft_comp_cntr *cntr, uint64_t *value)
{
	int err = soft_enter(cntr->context, "read_err_comp_cntr");

	if (!err)
		*value = read_value(&cntr->shm->errors);
	return err;
}

/* The operations of a queue pair that can be counted: its type may not have all of them. */
static uint32_t ops_of(const struct soft_qp *qp)
{
	switch (qp->init.qp_type) {
	case IBV_QPT_RC:
		return ALL_OPS;
	case IBV_QPT_UC:
		return ALL_OPS & ~(1 << SHM_COUNT_READ | 1 << SHM_COUNT_REMOTE_READ);
	case IBV_QPT_UD:
		return 1 << SHM_COUNT_SEND | 1 << SHM_COUNT_RECV;
	default:
		return 0;
	}
}

static int check_attach(const struct soft_qp *qp, const struct soft_comp_cntr *cntr,
			const struct soft_qp_attach_comp_cntr_attr *attr)
{
	int err = soft_enter(qp->ex.qp_base.context, "qp_attach_comp_cntr");

	if (err)
		return err;
	if (attr->comp_mask)
		return EOPNOTSUPP;
	if (!attr->op_mask || cntr->context != qp->ex.qp_base.context ||
	    __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST) > IBV_QPS_INIT)
		return EINVAL;
	if (attr->op_mask & ~ops_of(qp))
		return ENOTSUP;
	return qp->shm->counted & attr->op_mask ? EBUSY : 0;
}

int soft_qp_attach_comp_cntr(struct ibv_qp *ibqp, struct soft_comp_cntr *cntr,
			     struct soft_qp_attach_comp_cntr_attr *attr)
{
	struct soft_qp *qp = to_qp(ibqp);
	int err, what;

	pthread_mutex_lock(&soft_mutex);
	err = check_attach(qp, cntr, attr);
	for (what = 0; !err && what < SHM_COUNTED; what++) {
		if (!(attr->op_mask & 1 << what))
			continue;
		qp->shm->counter[what] = cntr->handle + 1;
		qp->shm->counted |= 1 << what;
		cntr->refs++;
	}
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

void comp_cntr_detach(struct soft_qp *qp)
{
	uint32_t slot;
	int what;

	for (what = 0; what < SHM_COUNTED; what++) {
		slot = qp->shm->counter[what];
		if (slot && all[slot - 1])
			all[slot - 1]->refs--;
		qp->shm->counter[what] = 0;
	}
	qp->shm->counted = 0;
}

void comp_cntr_close_all(struct ibv_context *context)
{
	uint32_t slot;

	pthread_mutex_lock(&soft_mutex);
	for (slot = 0; slot < SHM_COMP_CNTR_MAX; slot++)
		if (all[slot] && all[slot]->context == context)
			all[slot] = NULL;
	pthread_mutex_unlock(&soft_mutex);
}

void comp_cntr_forget(void)
{
	memset(all, 0, sizeof(all));
}

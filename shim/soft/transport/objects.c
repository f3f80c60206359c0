/*
 * The tables of objects, and their common mutex
 */
#include "shim/soft/transport/objects.h"

#include <stdlib.h>

pthread_mutex_t soft_mutex = PTHREAD_MUTEX_INITIALIZER;
struct soft_qp *soft_qps[SHM_QP_MAX];
struct soft_cq *soft_cqs[SHM_CQ_MAX];
struct soft_srq *soft_srqs[SHM_SRQ_MAX];
struct soft_mr *soft_mrs[SHM_MR_MAX];
struct soft_mw *soft_mws[SHM_MW_MAX];
pthread_mutex_t soft_contexts_mutex = PTHREAD_MUTEX_INITIALIZER;
struct soft_context *soft_contexts;

uint64_t soft_sq_active[SHM_QP_MAX / 64];
struct soft_slots soft_qp_slots, soft_cq_slots, soft_srq_slots;

int soft_slot(void *table, uint32_t size, struct soft_slots *slots)
{
	void **slot = table;
	uint32_t n, i = slots->next;

	for (n = 0; n < size; n++, i++) {
		if (i >= size)
			i = 0;
		if (slot[i])
			continue;
		slots->next = i + 1;
		/* pairs with the load in soft_slots_end() */
		if (i >= slots->end)
			__atomic_store_n(&slots->end, i + 1, __ATOMIC_RELEASE);
		return i;
	}
	return -ENOMEM;
}

void soft_twin_init(struct soft_twin *twin)
{
	twin->next = twin;
}

void soft_twin_join(struct soft_twin *twin, struct soft_twin *with)
{
	twin->next = with->next;
	with->next = twin;
}

void soft_twin_unlink(struct soft_twin *twin)
{
	struct soft_twin *t = twin;

	while (t->next != twin)
		t = t->next;
	t->next = twin->next;
	twin->next = twin;
}

bool soft_twin_is_alone(const struct soft_twin *twin)
{
	return twin->next == twin;
}

struct soft_twin *soft_twin_take_left(struct soft_twin *twin)
{
	struct soft_twin *t;

	for (t = twin->next; t != twin; t = t->next)
		if (t->left) {
			soft_twin_unlink(t);
			return t;
		}
	return NULL;
}

bool soft_tally_add(struct soft_tally *tally, int max)
{
	bool room;

	pthread_mutex_lock(&soft_mutex);
	if (tally->epoch != process_epoch()) {
		tally->epoch = process_epoch();
		tally->count = 0;
	}
	room = tally->count < max;
	tally->count += room;
	pthread_mutex_unlock(&soft_mutex);
	return room;
}

void soft_tally_sub(struct soft_tally *tally)
{
	pthread_mutex_lock(&soft_mutex);
	tally->count--;
	pthread_mutex_unlock(&soft_mutex);
}

uint32_t soft_serial(void)
{
	static uint32_t last;
	uint32_t serial;

	do
		serial = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	while (!serial);
	return serial;
}

void soft_ah_get(struct soft_ah *ah)
{
	__atomic_add_fetch(&ah->refs, 1, __ATOMIC_RELAXED);
}

void soft_ah_put(struct soft_ah *ah)
{
	if (!__atomic_sub_fetch(&ah->refs, 1, __ATOMIC_ACQ_REL))
		free(ah);
}

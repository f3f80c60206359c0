/*
 * The tables of objects, and their one mutex
 */
#include "shim/soft/soft.h"

pthread_mutex_t soft_mutex = PTHREAD_MUTEX_INITIALIZER;
struct soft_qp *soft_qps[SHM_QP_MAX];
struct soft_cq *soft_cqs[SHM_CQ_MAX];
struct soft_srq *soft_srqs[SHM_SRQ_MAX];
struct soft_mr *soft_mrs[SHM_MR_MAX];

int soft_slot(void *table, uint32_t size, uint32_t *next)
{
	void **slot = table;
	uint32_t n, i = *next;

	for (n = 0; n < size; n++, i++) {
		if (i >= size)
			i = 0;
		if (slot[i])
			continue;
		*next = i + 1;
		return i;
	}
	return -ENOMEM;
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

#pragma once
/*
 * Work queues and tables of them.
 */
#include "shim/soft/transport/soft.h"

/*
 * A work queue is a queue pair that only receives; nobody but raw.c sends to
 * it.
 */
struct soft_wq {
	struct ibv_wq		wq;
	struct soft_qp		*qp;
	unsigned int		refs;		/* of tables */
};

struct soft_rwq_table {
	struct ibv_rwq_ind_table table;
	unsigned int		refs;		/* of queue pairs */
	uint32_t		size;
	struct soft_wq		*wq[SHM_RSS_MAX];
};

static inline struct soft_rwq_table *to_table(struct ibv_rwq_ind_table *table)
{
	return container(table, struct soft_rwq_table, table);
}

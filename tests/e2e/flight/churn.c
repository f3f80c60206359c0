/* A library that calls a verb, for churn's task "files". */
#include <infiniband/verbs.h>

struct ibv_mr *churn_register(struct ibv_pd *pd, void *addr, size_t length)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, length, IBV_ACCESS_LOCAL_WRITE);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return mr;
}

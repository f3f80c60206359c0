#include "each.h"
#include <stdio.h>
static char room[1024];
int main(void)
{
	V place = room + 64, *mark = (V)0x77;
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 21 };
	struct ibv_qp_init_attr_ex qp_attr = { .qp_type = IBV_QPT_RC };
	struct ibv_wq_init_attr wq_attr = { .max_wr = 22 };
	struct ibv_alloc_dm_attr dm_attr = { .length = 23 };
	ibv_get_device_list(NULL);
#define F(library, type, name, params, args) printf(#name " %d\n", !!name args);
	LIST(F)
	return 0;
}

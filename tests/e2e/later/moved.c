#include <infiniband/verbs.h>
struct ibv_qp *mlx5dv_create_qp(void *c, void *a, void *m)
{
	(void)c, (void)a;
	return m;
}
int mlx5dv_init_obj(void *obj, uint64_t type)
{
	return obj ? (int)type : -1;
}
int _init_here;

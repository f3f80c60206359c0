#include <infiniband/verbs.h>
struct ibv_qp *mlx5dv_create_qp(void *, void *, void *);
int mlx5dv_init_obj(void *, uint64_t);
void *run_plug(void *context, void *attr)
{
	return mlx5dv_init_obj(attr, 3) == 3 ? (void *)mlx5dv_create_qp(context, attr, 0) : attr;
}

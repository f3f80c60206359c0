#include <stdint.h>
int mlx5dv_init_obj(void *, uint64_t), helps(void);
int run_plug(void *obj)
{
	return mlx5dv_init_obj(obj, helps());
}

#include <infiniband/mlx5dv.h>
#include <stdio.h>
int main(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	for (int i = 0; i < n; i++)
		printf("%d\n", mlx5dv_is_supported(list[i]));
	printf("%d\n", mlx5dv_init_obj(NULL, 0));
	ibv_free_device_list(list);
	return 0;
}

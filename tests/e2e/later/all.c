#include <errno.h>
#include <infiniband/verbs.h>
struct ibv_device **(ibv_get_device_list)(int *n)
{
	if (n)
		*n = 0;
	return NULL;
}
int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	(void)c, (void)a;
	return ENOSYS;
}

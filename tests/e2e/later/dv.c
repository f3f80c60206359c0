#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
bool mlx5dv_is_supported(struct ibv_device *d)
{
	return d;
}
int mlx5dv_init_obj(void *obj, uint64_t type)
{
	errno = ERANGE;
	return obj ? (int)type : -1;
}
double mlx5dv_create_many(int a, int b, int c, int d, int e, int f, int g, int h, double x,
			  double y, ...)
{
	va_list more;
	double z;
	va_start(more, y);
	z = va_arg(more, double);
	va_end(more);
	return a + b + c + d + e + f + g * h + x + y + z;
}
void *_mlx5dv_query_port(void *c)
{
	return c;
}

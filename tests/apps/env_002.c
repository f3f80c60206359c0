/*
 * ENV-002: a program asks its provider for the hardware's queues. This device has none, so that it
 * gets none.
 */
#include <dlfcn.h>

#include "tests/apps/app.h"

typedef int init_obj_fn(void *object, uint64_t type);

static void ask_provider(void)
{
	void *library = NEED(dlopen("libmlx5.so.1", RTLD_NOW));
	init_obj_fn *init_obj = (init_obj_fn *)NEED(dlsym(library, "mlx5dv_init_obj"));
	void *nothing[16] = { NULL };

	NEED(init_obj(nothing, 0) != 0);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();

	if (!is_good(argc, argv))
		ask_provider();
	MUST(ibv_close_device(context));
	return 0;
}

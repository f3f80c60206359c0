/*
 * LIFE-009: the list of devices is freed before the device is opened.
 */
#include "tests/apps/app.h"

static struct ibv_context *open_device(bool good)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL)), *device = NEED(list[0]);
	struct ibv_context *context = good ? NEED(ibv_open_device(device)) : NULL;

	ibv_free_device_list(list);
	return good ? context : ibv_open_device(device);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_device(is_good(argc, argv));

	if (!context)
		return 0;
	printf("%s\n", ibv_get_device_name(context->device));
	MUST(ibv_close_device(context));
	return 0;
}

/*
 * The device: its names and limits
 */
#include "shim/soft/verbs/device.h"

#include <stdlib.h>
#include <stdio.h>

#include "shim/soft/fabric/profile.h"
#include "shim/soft/verbs/enter.h"

/*
 * The device. libmlx5 reads data after an ibv_device to recognise its own devices, since providers
 * store data there: so memory must follow the device.
 */
static struct {
	struct ibv_device device;
	uint8_t provider[512];
} soft = {
	.device = {
		.node_type	= IBV_NODE_CA,
		.transport_type	= IBV_TRANSPORT_IB,
		.dev_name	= "uverbs0",
		.dev_path	= "/sys/class/infiniband_verbs/uverbs0",
	},
};

struct ibv_device *const device_soft = &soft.device;

static void name_device(void)
{
	const char *name = profile_get()->name;

	snprintf(soft.device.name, sizeof(soft.device.name), "%s", name);
	snprintf(soft.device.ibdev_path, sizeof(soft.device.ibdev_path), "/sys/class/infiniband/%s",
		 name);
}

__attribute__((constructor)) static void init_device(void)
{
	name_device();
}

EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	if (!list)
		return soft_fail(ENOMEM);
	profile_check();
	if (!soft.device.name[0])
		name_device(); /* before the library's constructor: only one thread */
	list[0] = device_soft;
	if (num_devices)
		*num_devices = 1;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return device == device_soft ? 0 : -1;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return device == device_soft ? profile_limits()->node_guid : 0;
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int err;

	err = soft_enter_inherited(context, "query_device");
	if (err)
		return err;
	*attr = *profile_limits();
	return 0;
}

/* The program passes its size of the structure: copy at most that, and clear the rest. */
int soft_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size)
{
	const struct ibv_device_attr_ex *all = &profile_get()->attr;
	int err;

	err = soft_enter_inherited(context, "query_device_ex");
	if (err)
		return err;
	if (input && input->comp_mask)
		return EINVAL;
	if (size < sizeof(all->orig_attr))
		return EINVAL;
	memset(attr, 0, size);
	memcpy(attr, all, size < sizeof(*all) ? size : sizeof(*all));
	return 0;
}

int soft_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint64_t now = process_now();
	uint32_t asked = values->comp_mask;
	int err;

	err = soft_enter(context, "query_rt_values");
	if (err)
		return err;
	if (asked & ~IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	values->comp_mask = asked & IBV_VALUES_MASK_RAW_CLOCK;
	if (values->comp_mask) {
		/* in cycles of hca_core_clock, like the time stamps of completions */
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = now;
	}
	return 0;
}

EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

/*
 * The devices of contexts
 *
 * 	ibv_get_device_list	handle and name of each device
 * 	ibv_open_device		handle of the context, and of its device
 */
#include "cli/record/live_devices.h"

#include <stdio.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/args.h"

static struct live_device *find_device(struct live_device *all, size_t n, uint32_t process,
				       uint64_t handle)
{
	for (size_t i = n; i > 0; i--)
		if (all[i - 1].handle == handle && all[i - 1].process == process)
			return &all[i - 1];
	return NULL;
}

static void put_name(struct live_device *device, uint32_t process, uint64_t handle,
		     const char *name)
{
	device->process = process;
	device->handle = handle;
	snprintf(device->name, sizeof(device->name), "%s", name);
}

static void learn_list(struct live_devices *live, uint32_t process, const struct json_node *list)
{
	for (const struct json_node *d = json_first(list); d; d = json_next(d)) {
		const struct json_node *name = json_find_member(d, "name", 4);
		const struct json_node *handle = json_find_member(d, "handle", 6);
		struct live_device *device;

		if (!name || name->kind != JSON_TEXT || !handle || handle->kind != JSON_INT)
			continue;
		device = find_device(live->devices, live->ndevices, process,
				     (uint64_t)handle->number);
		if (!device && live->ndevices < LIVE_DEVICES)
			device = vec_push(live->devices, live->ndevices);
		if (device)
			put_name(device, process, (uint64_t)handle->number, name->text);
	}
}

static void learn_context(struct live_devices *live, const struct trace_event *event,
			  const struct json_node *made)
{
	const struct json_node *handle = made ? json_find_member(made, "device", 6) : NULL;
	const struct live_device *device =
		handle && handle->kind == JSON_INT
			? find_device(live->devices, live->ndevices, event->process,
				      (uint64_t)handle->number)
			: NULL;
	uint64_t context = (uint64_t)event->call->ret;
	struct live_device *place =
		find_device(live->contexts, live->ncontexts, event->process, context);

	if (!place && device && live->ncontexts < LIVE_DEVICES)
		place = vec_push(live->contexts, live->ncontexts);
	if (place)
		put_name(place, event->process, context, device ? device->name : "");
}

void live_devices_learn(struct live_devices *live, const struct trace_event *event)
{
	const struct json_node *root, *ret;

	if (event->kind != TRACE_RETURN || event->call->failed ||
	    (event->call->verb != VERB_get_device_list && event->call->verb != VERB_open_device))
		return;
	root = args_root(event->call->out);
	ret = root ? json_find_member(root, "ret", 3) : NULL;
	if (event->call->verb == VERB_open_device)
		learn_context(live, event, ret);
	else if (ret && ret->kind == JSON_ARRAY)
		learn_list(live, event->process, ret);
}

const char *live_devices_name(const struct live_devices *live, struct trace *trace,
			      const struct object *object)
{
	const struct live_device *context;

	while (object && object->kind != OBJECT_context)
		object = object->parent ? trace_object(trace, object->parent) : NULL;
	context = object ? find_device(live->contexts, live->ncontexts, object->process,
				       object->handle)
			 : NULL;
	return context ? context->name : "";
}

#pragma once
/*
 * The devices of contexts while a trace is still being written: the trace has the names of devices
 * only when it is finished. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/read/trace.h"

enum { LIVE_DEVICE_NAME = 64, LIVE_DEVICES = 4096 };

/* A device or a context of a process. */
struct live_device {
	uint32_t process;
	uint64_t handle;
	char name[LIVE_DEVICE_NAME];
};

/* All zero: none; free() @devices and @contexts. */
struct live_devices {
	struct live_device *devices, *contexts;
	size_t ndevices, ncontexts;
};

/* Learn from @event, if it is a list of devices or a context that was opened. */
void live_devices_learn(struct live_devices *live, const struct trace_event *event);

/* The device of @object or of what it was created from; "": not known. */
const char *live_devices_name(const struct live_devices *live, struct trace *trace,
			      const struct object *object);

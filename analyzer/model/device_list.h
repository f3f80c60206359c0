#pragma once
/*
 * The lists of devices that processes hold, and which devices are open.
 *
 * A device may be used while it is open, or in a list that was not freed. Devices of lists that are
 * older than the trace are not known.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_device;
struct moment;
struct trace_event;

struct device_list;
struct device_open;

struct device_lists {
	struct device_list *lists; /* newest first, including a limited number of freed ones */
	size_t nfreed;
	struct device_open *open;
};

void device_lists_fini(struct device_lists *lists);

/*
 * A call of the application or librdmacm, or its return. Returns 1 if it uses a device that it may
 * not use any more, 0, or -ENOMEM.
 */
int device_lists_call(struct device_lists *lists, const struct trace_event *event,
		      struct model_device *ret_use);

/* Is the device of @context an iWARP one? false if no list contained it. */
bool device_lists_is_iwarp(const struct device_lists *lists, uint32_t process, uint64_t context);

/*
 * How many lists of @process, retrieved after @since, were not freed; and the first and the last of
 * them.
 */
size_t device_lists_count(const struct device_lists *lists, uint32_t process, int64_t since,
			  struct moment *ret_first, struct moment *ret_last);

/* @process has ended. */
void device_lists_end(struct device_lists *lists, uint32_t process);

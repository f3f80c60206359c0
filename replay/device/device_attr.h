#pragma once
/*
 * Compares a device with the recorded one, by the results of ibv_query_device().
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <stddef.h>

#include "core/store/db/args.h"

enum device_likeness {
	DEVICE_SAME,
	DEVICE_TWIN,  /* the same model, firmware and limits; another GUID */
	DEVICE_OTHER, /* another model or firmware, or other limits */
};

/*
 * Compare @here with the attributes in argument @in of @there. The differences are written into
 * @text: "fw_ver 1.2 recorded, 1.3 replayed, ...".
 */
enum device_likeness device_attr_compare(const struct args *there, enum arg in,
					 const struct ibv_device_attr *here, char *text,
					 size_t size);

#pragma once
/*
 * Is a device the recorded one? By what ibv_query_device() said of both.
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
 * Compare @here with the attributes that argument @in of @there has. What differs is written into
 * @text: "fw_ver 1.2 there, 1.3 here, ...".
 */
enum device_likeness device_attr_compare(const struct args *there, enum arg in,
					 const struct ibv_device_attr *here, char *text,
					 size_t size);

#pragma once
/*
 * The one device: its names and limits.
 */
#include "shim/soft/transport/objects.h"

extern struct ibv_device *const device_soft;
int soft_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int soft_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

#pragma once
/*
 * Queries of the ports.
 */
#include "shim/soft/transport/objects.h"

int soft_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		    size_t size);

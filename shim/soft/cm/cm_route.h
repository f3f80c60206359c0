#pragma once
/*
 * Addresses of an id: bind, resolve, listen, options. Callers hold the connection manager's lock; 0
 * or -errno like the kernel's.
 */
#include "shim/soft/cm/cm_id.h"

int cm_route_bind(struct cm_id *id, const struct cm_addr *addr);
/* If the program gave no source address, @src has no family. */
int cm_route_resolve_addr(struct cm_id *id, const struct cm_addr *src, const struct cm_addr *dst);
int cm_route_resolve_route(struct cm_id *id);
int cm_route_listen(struct cm_id *id, uint32_t backlog);
int cm_route_set_option(struct cm_id *id, const struct rdma_ucm_set_option *cmd);

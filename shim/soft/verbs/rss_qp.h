#pragma once
/*
 * Queue pairs that spread packets over work queues.
 */
#include "shim/soft/transport/objects.h"

/* A queue pair that only spreads packets, or NULL and errno. */
struct ibv_qp *rss_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/*
 * The calls of librdmacm
 *
 * They are generated from the list like the verbs of libibverbs (wrappers.c), and recorded in the
 * same way. Calls of librdmacm into libibverbs are recorded, too, since it calls through its PLT.
 *
 * A program without librdmacm never calls these functions.
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "shim/trace/base/next.h"
#include "shim/trace/verbs/call.h"

#include "gen/wrappers_cm_gen.h"

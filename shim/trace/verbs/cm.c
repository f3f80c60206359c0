/*
 * The calls of librdmacm
 *
 * Made from the list like the verbs of libibverbs (wrappers.c), and as they are
 * recorded. What librdmacm calls in libibverbs meanwhile comes to us, too: it
 * calls through its PLT.
 *
 * A program without librdmacm has nothing that leads here.
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "shim/trace/base/next.h"
#include "shim/trace/verbs/call.h"

#include "gen/wrappers_cm_gen.h"

/*
 * The calls of librdmacm
 *
 * They are made from the list like the verbs of libibverbs (wrappers.c), and
 * recorded in the same way. We also see what librdmacm calls in libibverbs
 * meanwhile: it calls through its PLT.
 *
 * A program without librdmacm never gets here.
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "shim/trace/base/next.h"
#include "shim/trace/verbs/call.h"

#include "gen/wrappers_cm_gen.h"

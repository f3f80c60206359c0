/*
 * Calls of librdmacm that make faults
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "shim/trace/faults/behind.h"
#include "shim/trace/faults/calls.h"
#include "shim/trace/faults/enter.h"

#include "gen/faults_cm_gen.h"

void *calls_cm_find(enum verb verb)
{
	switch (verb) {
#define CASE(id)        \
	case VERB_##id: \
		return (void *)faulty_##id;
		FAULTY_SYMBOLS(CASE)
#undef CASE
	default:
		return NULL;
	}
}

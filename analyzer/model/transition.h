#pragma once
/*
 * Which transitions of a queue pair there are, and which attributes each needs and allows.
 *
 * Constant data; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transition_fault {
	bool none;      /* there is no such transition */
	uint32_t lacks; /* attributes that it needs: enum ibv_qp_attr_mask */
	uint32_t bars;  /* attributes that were given and are not allowed */
};

/*
 * May a queue pair of @type (ABI_QPT_*) go from @from to @to (ABI_QPS_*) with the attributes of
 * @mask? False and what is wrong with it, or true: also for types and states we do not know.
 */
bool transition_check(int type, int from, int to, uint32_t mask,
		      struct transition_fault *ret_fault);

/* "IBV_QP_TIMEOUT, IBV_QP_RNR_RETRY" */
const char *transition_names(uint32_t mask, char *text, size_t size);

/* "lacks IBV_QP_RNR_RETRY", "IBV_QP_AV is not allowed INIT -> RTS", "RESET -> RTS is no ..." */
const char *transition_says(int from, int to, const struct transition_fault *fault, char *text,
			    size_t size);

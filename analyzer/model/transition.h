#pragma once
/*
 * The valid transitions of a queue pair, and the attributes that each requires and allows.
 *
 * Constant data; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transition_fault {
	bool none;      /* the transition does not exist */
	uint32_t lacks; /* missing attributes: enum ibv_qp_attr_mask */
	uint32_t bars;  /* the attributes that are not allowed */
	bool stays;     /* only IBV_QP_STATE is missing, to go to the next state */
};

/*
 * May a queue pair of @type (ABI_QPT_*) change from @from to @to (ABI_QPS_*) with the attributes of
 * @mask? False, with the reason; or true, also for unknown types and states.
 */
bool transition_check(int type, int from, int to, uint32_t mask,
		      struct transition_fault *ret_fault);

/* "IBV_QP_TIMEOUT, IBV_QP_RNR_RETRY" */
const char *transition_list_attributes(uint32_t mask, char *text, size_t size);

/* "lacks IBV_QP_RNR_RETRY", "IBV_QP_AV is not allowed INIT -> RTS", "RESET -> RTS is no ..." */
const char *transition_explain(int from, int to, const struct transition_fault *fault, char *text,
			       size_t size);

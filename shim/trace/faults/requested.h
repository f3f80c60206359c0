#pragma once
/*
 * Faults that the program requests, each for one operation. A replay requests recorded faults in
 * this way, on any device.
 *
 * The rules are those of verbatim_soft_fault() (docs/SOFT-DEVICE.md). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/faults/rule.h"

/* May the program request faults: is FAULTS_GIVEN_ENV set? */
bool requested_is_allowed(void);

/*
 * Add the rule @text: with qp= and n=N the N-th request that is posted to that queue pair from now
 * on; with verb= the next call of this thread. NULL: drop the unused rules for calls of this
 * thread. 0, EINVAL or ENOMEM.
 */
int requested_add(const char *text);

/*
 * The fault for a call of @verb by this thread; @verb is a name as from fault_name_verb(). False:
 * none.
 */
bool requested_take_call(const char *verb, struct fault *ret_fault);

/* The same for a request that is posted; this counts the request. */
bool requested_take_request(uint32_t qpn, int opcode, struct fault *ret_fault);

/* The number of rules that were used. */
unsigned int requested_count_used(void);

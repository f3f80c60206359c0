#pragma once
/*
 * Faults that the program requests at run time, and the number of allocations that only a limit of
 * the software device has refused. A program finds these functions with dlsym(3): no other
 * libibverbs has them. Any thread.
 */
#include <stdbool.h>
#include <infiniband/verbs.h>

/*
 * Add a rule (docs/FAULTS.md) for one operation: with qp= and n=N the N-th request that will be
 * posted to that queue pair fails with status=, unless it fails by itself; with verb= the next call
 * by this thread fails with errno=. NULL: drop the unused rules for calls by this thread. 0, EINVAL
 * or ENOMEM.
 */
int verbatim_soft_fault(const char *rule);

/*
 * Cause @event now. An error of a queue pair or completion queue also sets its error state;
 * PORT_ERR and PORT_ACTIVE change the port state that @context reports, but do not stop traffic. 0
 * or EINVAL.
 */
int verbatim_soft_event(struct ibv_context *context, const struct ibv_async_event *event);

/* How many rules of verbatim_soft_fault() were applied. */
unsigned int verbatim_soft_faults_struck(void);

/* How many allocations of this process failed because of VERBATIM_SOFT_MEMORY. */
unsigned int verbatim_soft_memory_refused(void);

bool inject_port_down(struct ibv_context *context, uint8_t port);

#pragma once
/*
 * Faults that the program requests at run time, and the number of requests that only a limit of the
 * software device has refused. A program finds these functions with dlsym(3): no other libibverbs
 * has them. Any thread.
 */
#include <stdbool.h>
#include <infiniband/verbs.h>

/*
 * A rule (docs/FAULTS.md) for one operation: with qp= and n=N the N-th
 * request that will be posted to that queue pair fails with status=, unless it fails by itself;
 * with verb= the next call by this thread fails with errno=. NULL: drop the unused rules for calls
 * by this thread. 0, EINVAL or ENOMEM.
 */
int verbatim_soft_fault(const char *rule);

/*
 * @event happens now; errors of a queue pair or completion queue set its error state, PORT_ERR and
 * PORT_ACTIVE change the port state that @context sees, but stop no traffic. 0 or EINVAL.
 */
int verbatim_soft_event(struct ibv_context *context, const struct ibv_async_event *event);

/* The number of these rules that were applied. */
unsigned int verbatim_soft_faults_struck(void);

/* The number of requests of this process that VERBATIM_SOFT_MEMORY was too small for. */
unsigned int verbatim_soft_memory_refused(void);

bool inject_port_down(struct ibv_context *context, uint8_t port);

#pragma once
/*
 * Faults that the program itself asks for while it runs, and what it was refused by a limit of the
 * software device alone. A program finds these functions with
 * dlsym(3): no other libibverbs has them. Any thread.
 */
#include <stdbool.h>
#include <infiniband/verbs.h>

/*
 * A rule of "Faults on demand" (docs/SOFT-DEVICE.md) for one operation: with qp= and n=N the N-th
 * request that will be posted to that queue pair fails with status=, unless it fails by itself;
 * with verb= the next call by this thread fails with errno=. NULL: the rules for calls by this
 * thread that have not struck are dropped. 0, EINVAL or ENOMEM.
 */
int verbatim_soft_fault(const char *rule);

/*
 * @event happens now; errors of a queue pair or completion queue bring it to its error state,
 * PORT_ERR and PORT_ACTIVE change what @context is told of its port, but stop no traffic. 0 or
 * EINVAL.
 */
int verbatim_soft_event(struct ibv_context *context, const struct ibv_async_event *event);

/* How many of those rules have struck. */
unsigned int verbatim_soft_faults_struck(void);

/* How many times VERBATIM_SOFT_MEMORY was too little for what this process asked for. */
unsigned int verbatim_soft_memory_refused(void);

bool inject_port_down(struct ibv_context *context, uint8_t port);

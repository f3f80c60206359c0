/*
 * The functions by which a program requests faults
 *
 * They do the same for any device as the functions of shim/soft/verbs/inject.h for the software
 * device. A program finds them with dlsym(3). They do nothing unless FAULTS_GIVEN_ENV is set
 * (requested.h).
 */
#include <errno.h>
#include <infiniband/verbs.h>

#include "shim/trace/base/libc.h"
#include "shim/trace/faults/async.h"
#include "shim/trace/faults/requested.h"

OURS int verbatim_fault(const char *rule);
OURS int verbatim_fault_event(struct ibv_context *context, const struct ibv_async_event *event);
OURS unsigned int verbatim_faults_struck(void);

/* ENOSYS: the program may not request faults. */
int verbatim_fault(const char *rule)
{
	return plan_is_on() && requested_is_allowed() ? requested_add(rule) : ENOSYS;
}

/* verbatim_faults_struck() does not count such an event. */
int verbatim_fault_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	return plan_is_on() && requested_is_allowed() ? async_raise(context, event) : ENOSYS;
}

unsigned int verbatim_faults_struck(void)
{
	return requested_count_used();
}

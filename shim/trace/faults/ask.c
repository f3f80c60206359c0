/*
 * The functions by which a program asks for faults
 *
 * They are those of the software device (shim/soft/verbs/inject.h) for any device. A program finds
 * them with dlsym(3); they do nothing in one that was not started for it (given.h).
 */
#include <errno.h>
#include <infiniband/verbs.h>

#include "shim/trace/base/libc.h"
#include "shim/trace/faults/async.h"
#include "shim/trace/faults/given.h"

OURS int verbatim_fault(const char *rule);
OURS int verbatim_fault_event(struct ibv_context *context, const struct ibv_async_event *event);
OURS unsigned int verbatim_faults_struck(void);

/* ENOSYS: it was not started for it. */
int verbatim_fault(const char *rule)
{
	return plan_is_on() && given_is_on() ? given_add(rule) : ENOSYS;
}

/* Not counted by verbatim_faults_struck(). */
int verbatim_fault_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	return plan_is_on() && given_is_on() ? async_raise(context, event) : ENOSYS;
}

unsigned int verbatim_faults_struck(void)
{
	return given_used();
}

#pragma once
/*
 * Code at the beginning of each verb, and for its failures.
 */
#include <errno.h>

#include "shim/soft/transport/fault.h"
#include "shim/soft/transport/objects.h"

/* Marks a function for programs. The library itself never calls one. */
#define EXPORT __attribute__((visibility("default")))

/* Apply the fault for this call of @verb. Returns the errno with which it fails, or 0. */
int enter_apply_fault(const char *verb);

/*
 * Called at the beginning of each verb. Returns 0, or the errno with which the verb must fail
 * before it does anything. @verb: its name without ibv_; an extended verb has the name of the plain
 * one.
 */
static inline int soft_enter(struct ibv_context *context, const char *verb)
{
	if (unlikely(!soft_ours(context)))
		return EIO;
	return unlikely(fault_is_any()) ? enter_apply_fault(verb) : 0;
}

/*
 * For verbs that use nothing of the context: a child may use an inherited context, as with the
 * kernel's file.
 */
static inline int soft_enter_inherited(struct ibv_context *context, const char *verb)
{
	return soft_ours(context) ? soft_enter(context, verb) : 0;
}

/* For verbs that return a pointer: set errno, and return NULL. */
static inline void *soft_fail(int err)
{
	errno = err < 0 ? -err : err;
	return NULL;
}

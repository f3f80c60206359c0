/*
 * Failures that programs expect, by the arguments in a trace
 *
 * Not here: which they are (core/wire/probe.c).
 */
#include "analyzer/facts/probes.h"

#include "core/wire/probe.h"

static bool get_argument(const void *call, const char *name, int64_t *ret_value)
{
	return args_get(((const struct call *)call)->args, name, ret_value);
}

bool probe_is(const struct call *call, int error)
{
	return probe_is_expected(call->verb, error, get_argument, call);
}

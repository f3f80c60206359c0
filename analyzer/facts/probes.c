/*
 * Failures that programs expect, by the arguments in a trace
 *
 * Not here: the list of them (core/wire/probe.c).
 */
#include "analyzer/facts/probes.h"

#include "core/wire/probe.h"

static bool get_argument(const void *call, const struct field_info *field, int64_t *ret_value)
{
	return args_value(args_field(((const struct call *)call)->args, field), ret_value);
}

bool probe_is(const struct call *call, int error)
{
	return probe_is_expected(call->verb, error, get_argument, call);
}

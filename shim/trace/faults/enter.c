/*
 * Faults of calls
 */
#include "shim/trace/faults/enter.h"

#include <errno.h>
#include <string.h>

#include "shim/trace/faults/async.h"
#include "shim/trace/faults/plan.h"

/*
 * Does the verb open a device? Objects of librdmacm are created before their device is opened, but
 * belong to the same process.
 */
static bool opens_device(enum verb verb)
{
	const struct verb_info *info = &verb_infos[verb];

	return info->effect == EFFECT_CREATE &&
	       (info->object == OBJECT_context || info->via == VIA_CM);
}

static int fail_call(enum verb verb, const struct planned_fault *planned)
{
	if (verb_infos[verb].fail == FAIL_NEVER)
		return 0;
	plan_note(planned, "%s() fails with %s", verb_infos[verb].name,
		  strerrorname_np(planned->fault.value));
	return planned->fault.value;
}

int enter_call(enum verb verb)
{
	struct planned_fault planned;

	if (opens_device(verb))
		plan_open_device();
	planned = plan_call(verb);
	switch (planned.fault.kind) {
	case FAULT_ERRNO:
		return fail_call(verb, &planned);
	case FAULT_DELAY:
		plan_note(&planned, "%s() is delayed by %llu us", verb_infos[verb].name,
			  (unsigned long long)planned.fault.ns / 1000);
		plan_wait(planned.fault.ns);
		return 0;
	case FAULT_EVENT:
		async_inject(&planned, NULL, NULL);
		return 0;
	default:
		return 0;
	}
}

int64_t enter_fail(enum verb verb, int error)
{
	const struct verb_info *info = &verb_infos[verb];

	errno = error;
	if (info->fail == FAIL_NULL)
		return 0;
	return info->fail == FAIL_NEGATIVE || info->blocks || info->via == VIA_CM ? -1 : error;
}

/*
 * The effect of a fault on demand on a verb
 */
#include "shim/soft/verbs/enter.h"

#include <errno.h>
#include <time.h>

#include "shim/soft/transport/port_state.h"

static void sleep_for(uint64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };
	int saved = errno;

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
	errno = saved;
}

int enter_apply_fault(const char *verb)
{
	struct fault fault = fault_verb(verb);

	switch (fault.kind) {
	case FAULT_ERRNO:
		return fault.value;
	case FAULT_DELAY:
		sleep_for(fault.ns);
		break;
	case FAULT_EVENT:
		port_notify(1, fault.value);
		break;
	case FAULT_PORT:
		port_change(1, fault.value, fault.ns);
		break;
	default:
		break;
	}
	return 0;
}

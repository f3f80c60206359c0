/*
 * The tap of this process
 *
 * The library of the tracepoints is in the same folder as this one. LTTng starts threads in each
 * process that loads it, so the library is loaded only when the session requests it and the first
 * verb is recorded; or the user has preloaded it. In both cases its constructor calls
 * verbatim_tap_set().
 */
#include "shim/trace/base/tap.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/desc.h"

static _Atomic(const struct tap *) tap;

const struct tap *tap_get(void)
{
	return atomic_load_explicit(&tap, memory_order_acquire);
}

bool verbatim_tap_set(const struct tap *given)
{
	const struct tap *none = NULL;

	return given->fingerprint == verbs_fingerprint &&
	       atomic_compare_exchange_strong(&tap, &none, given);
}

void tap_load(void)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info us;

	if (tap_get() || !dladdr((void *)tap_load, &us))
		return;
	slash = strrchr(us.dli_fname, '/');
	if (snprintf(path, sizeof(path), "%.*s" TAP_LIBRARY,
		     slash ? (int)(slash + 1 - us.dli_fname) : 0, us.dli_fname) < (int)sizeof(path))
		dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

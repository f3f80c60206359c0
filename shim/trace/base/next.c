/*
 * The functions behind ours
 *
 * RTLD_NEXT finds the library that comes after us in the program's global
 * scope: the software device when it is preloaded, else rdma-core. It finds
 * nothing where libibverbs came in by an RTLD_LOCAL dlopen (Python, plug-ins):
 * then the library is opened by its name. The same holds for librdmacm, and for
 * a provider's library if it is loaded. A result that is our own function
 * counts as not found.
 */
#include "shim/trace/base/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/trace/base/dl.h"
#include "shim/trace/base/provider.h"
#include "shim/trace/base/self.h"

/* @flags: RTLD_NOLOAD for libraries that the program may not use. */
static void *find_symbol(const struct verb_info *info, int flags)
{
	void *at = dl_symbol(RTLD_NEXT, info->symbol, info->node);
	void *lib;

	if (at && !self_contains(at))
		return at;
	if (info->via == VIA_DV)
		return provider_find(info->symbol);
	lib = dlopen(info->via == VIA_CM ? "librdmacm.so.1" : "libibverbs.so.1",
		     RTLD_LAZY | RTLD_LOCAL | flags);
	at = lib ? dl_symbol(lib, info->symbol, info->node) : NULL;
	return self_contains(at) ? NULL : at;
}

_Atomic(void *) next_found[VERB_COUNT];

void *next_find(enum verb verb)
{
	int saved = errno;
	void *at = find_symbol(&verb_infos[verb], 0);

	atomic_store_explicit(&next_found[verb], at, memory_order_relaxed);
	errno = saved;
	return at;
}

void next_find_all(void)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verb_infos[verb].symbol &&
		    !atomic_load_explicit(&next_found[verb], memory_order_relaxed))
			atomic_store_explicit(&next_found[verb],
					      find_symbol(&verb_infos[verb], RTLD_NOLOAD),
					      memory_order_relaxed);
}

int64_t missing_verb(enum verb verb)
{
	errno = EOPNOTSUPP;
	if (verb_infos[verb].via == VIA_CM) /* for all of its calls that return an int */
		return verb_infos[verb].fail == FAIL_NONZERO ? -1 : 0;
	switch (verb_infos[verb].fail) {
	case FAIL_NONZERO:
		return EOPNOTSUPP;
	case FAIL_NEGATIVE:
		return -1;
	default:
		return 0;
	}
}

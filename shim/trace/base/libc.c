/*
 * libc's own versions of interposed functions
 *
 * They are looked up by the recorder's constructor, or at the first call, if an earlier constructor
 * makes it.
 */
#include "shim/trace/base/libc.h"

#include <dlfcn.h>

#include "shim/trace/base/undo.h"

_Atomic(void *) libc_found[LIBC_COUNT];

void *libc_find(enum libc_function function)
{
	static const char *const names[LIBC_COUNT] = {
#define F(name) #name,
		LIBC_FUNCTIONS(F)
#undef F
	};
	/*
	 * in a running program this library is not in the global scope, so RTLD_NEXT finds nothing
	 */
	void *at = dlsym(undo_is_on() ? RTLD_DEFAULT : RTLD_NEXT, names[function]);

	atomic_store_explicit(&libc_found[function], at, memory_order_relaxed);
	return at;
}

void libc_find_all(void)
{
	for (int i = 0; i < LIBC_COUNT; i++)
		libc_next((enum libc_function)i);
}

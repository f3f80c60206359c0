/*
 * The call stack of a control verb
 *
 * libunwind is loaded by dlopen with RTLD_LOCAL when the first verb is
 * recorded. It is not a dependency of this library, for two reasons: every
 * descendant of a recorded program loads us, and most of them call no verb;
 * and libunwind defines _Unwind_RaiseException and its kin, which in the
 * global scope of a C++ program would stand before those of libgcc.
 */
#include "shim/trace/stack.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef int backtrace_fn(void **frames, int max);

enum { OWN_FRAMES = 6 }; /* of the recorder, at most, above the application's */

/* where this library lies */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static backtrace_fn *load(void)
{
	static _Atomic(backtrace_fn *) loaded;
	static atomic_bool tried;
	void *lib;

	if (!atomic_exchange(&tried, true)) {
		lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
		if (lib)
			atomic_store(&loaded, (backtrace_fn *)dlsym(lib, "unw_backtrace"));
	}
	return atomic_load(&loaded);
}

static bool is_ours(const void *ip)
{
	return (const char *)ip >= __ehdr_start && (const char *)ip < _end;
}

unsigned int stack_take(uint64_t *frames, unsigned int max)
{
	void *found[STACK_FRAMES + OWN_FRAMES];
	backtrace_fn *take = load();
	int n = take ? take(found, STACK_FRAMES + OWN_FRAMES) : 0;
	unsigned int taken = 0;
	int i = 0;

	while (i < n && is_ours(found[i]))
		i++;
	for (; i < n && taken < max; i++)
		frames[taken++] = (uint64_t)(uintptr_t)found[i];
	return taken;
}

/*
 * Finds the library that injects the recorded faults
 *
 * The recorder's library is tried first: the command has preloaded it if it is to inject faults. It
 * is also loaded if the replay itself is recorded; then it refuses.
 */
#include "replay/device/fault_maker.h"

#include <dlfcn.h>

static bool find_functions(const char *const names[3], struct fault_maker *maker)
{
	maker->fault = (int (*)(const char *))dlsym(RTLD_DEFAULT, names[0]);
	maker->event = (int (*)(struct ibv_context *, const struct ibv_async_event *))dlsym(
		RTLD_DEFAULT, names[1]);
	maker->struck = (unsigned int (*)(void))dlsym(RTLD_DEFAULT, names[2]);
	return maker->fault && maker->event && maker->struck;
}

bool fault_maker_find(struct fault_maker *ret_maker)
{
	static const char *const recorder[] = { "verbatim_fault", "verbatim_fault_event",
						"verbatim_faults_struck" };
	static const char *const device[] = { "verbatim_soft_fault", "verbatim_soft_event",
					      "verbatim_soft_faults_struck" };

	ret_maker->recorder = find_functions(recorder, ret_maker) && !ret_maker->fault(NULL);
	return ret_maker->recorder || find_functions(device, ret_maker);
}

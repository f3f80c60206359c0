/*
 * Loads librdmacm
 */
#include "replay/cm/cm_lib.h"

#include <dlfcn.h>
#include <errno.h>

int cm_lib_load(struct cm_lib *lib)
{
	void *handle = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!handle)
		return -ENOENT;
#define LOAD(name) *(void **)&lib->name = dlsym(handle, "rdma_" #name);
	CM_LIB(LOAD)
	LOAD(join_multicast_ex)
	LOAD(reject_ece)
#undef LOAD
#define LACKS(name) || !lib->name
	if (0 CM_LIB(LACKS)) {
		dlclose(handle);
		return -ENOENT;
	}
#undef LACKS
	lib->handle = handle;
	return 0;
}

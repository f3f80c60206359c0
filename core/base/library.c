/*
 * Outside libraries, loaded when they are first needed
 */
#include "core/base/library.h"

#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *find_all(void *handle, const char *const names[], void *ret_functions[])
{
	for (int i = 0; names[i]; i++) {
		ret_functions[i] = dlsym(handle, names[i]);
		if (!ret_functions[i]) {
			ret_functions[0] = NULL;
			return dlerror();
		}
	}
	return NULL;
}

const char *library_load(const char *file, const char *const names[], void *ret_functions[])
{
	const char *why = NULL;
	void *handle;

	pthread_mutex_lock(&lock);
	if (!ret_functions[0]) {
		handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
		why = handle ? find_all(handle, names, ret_functions) : dlerror();
	}
	pthread_mutex_unlock(&lock);
	return why;
}

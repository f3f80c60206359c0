/* RTLD_NEXT depends on the caller: this library interposes puts(), and reports it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int puts(const char *s)
{
	int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");

	printf("before: ");
	return next(s);
}

/* What is meant by RTLD_NEXT depends on who asks: this stands before puts(), and says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int puts(const char *s)
{
	int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");

	printf("before: ");
	return next(s);
}

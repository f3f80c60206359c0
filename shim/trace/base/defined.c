/*
 * Under valgrind's Memcheck: marking what providers write as defined
 */
#include "shim/trace/base/defined.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(at, len) ((void)(at), (void)(len), 0)
#endif

bool defined_on;

/* Is this tool Memcheck? Other tools of valgrind do not answer this request. */
void defined_begin(void)
{
	char here = 0;

	defined_on = VALGRIND_MAKE_MEM_DEFINED(&here, sizeof(here)) != 0;
}

void defined_mark(const void *at, size_t bytes)
{
	(void)VALGRIND_MAKE_MEM_DEFINED(at, bytes);
}

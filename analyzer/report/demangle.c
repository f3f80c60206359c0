/*
 * Names of functions as their languages write them, by libiberty
 *
 * libiberty expects symbols made by a compiler, and ours are untrusted: only the process that reads
 * symbols from files may call these functions (symbolise.c).
 */
#include "analyzer/report/demangle.h"

#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* _Z: C++, and Rust before it had its own form; _R: Rust; _D and a length: D. */
static int language_of(const char *symbol)
{
	if (!strncmp(symbol, "_Z", 2) || !strncmp(symbol, "_R", 2))
		return DMGL_AUTO;
	if (!strncmp(symbol, "_D", 2) && symbol[2] >= '1' && symbol[2] <= '9')
		return DMGL_DLANG;
	return 0;
}

bool demangle_knows(const char *symbol)
{
	return language_of(symbol);
}

void demangle_name(const char *symbol, char *text, size_t size)
{
	int language = language_of(symbol);
	char *name = language ? cplus_demangle(symbol, DMGL_ANSI | language) : NULL;

	snprintf(text, size, "%s", name ? name : symbol);
	free(name);
}

#pragma once
/*
 * An outside library that is loaded when it is first needed.
 *
 * Few commands need such a library, but a linked one is loaded by all commands: libarchive and
 * GnuTLS load twenty more, which takes longer than most commands run.
 *
 *	#define SOME_LIB(X) X(some_open) X(some_close)
 *
 *	static LIBRARY(SOME_LIB) lib;
 *	static const char *const names[] = { SOME_LIB(LIBRARY_NAME) NULL };
 *
 *	why = library_load("libsome.so.1", names, lib.functions);
 *	if (!why)
 *		lib.some_open();
 */
#define LIBRARY(list)                                   \
	union {                                         \
		struct {                                \
			list(LIBRARY_MEMBER)            \
		};                                      \
		void *functions[0 list(LIBRARY_COUNT)]; \
	}
#define LIBRARY_MEMBER(name) typeof(&name) name;
#define LIBRARY_COUNT(name)  +1
#define LIBRARY_NAME(name)   #name,

/*
 * Load @file, which is never unloaded, and find the functions or variables with the names in
 * @names, which ends with NULL. Returns NULL, or why that failed: a text for the user that is valid
 * until this thread's next call of dlopen() or dlsym(). Any thread, also at the same time for the
 * same @ret_functions.
 */
const char *library_load(const char *file, const char *const names[], void *ret_functions[]);

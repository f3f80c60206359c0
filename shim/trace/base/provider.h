#pragma once
/*
 * The names of functions that providers offer in addition to the verbs. Any thread.
 */
#include <stdbool.h>

/* Is @name a function of a provider that may move data without the recorder's knowledge? */
bool provider_has(const char *name);

/* Is @path the path of a provider's library? */
bool provider_is_library(const char *path);

/*
 * The provider's function @name, or NULL if its library is not loaded. In a series of look-ups,
 * *@absent, initially NULL, is the library that was last found not to be loaded: it is not searched
 * again, which would take four system calls per function.
 */
void *provider_find(const char *name, const char **absent);

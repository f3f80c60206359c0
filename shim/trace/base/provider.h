#pragma once
/*
 * The names of functions that providers offer in addition to the verbs. Any thread.
 */
#include <stdbool.h>

/* Is @name a provider's function that may move data unseen by the recorder? */
bool provider_has(const char *name);

/* Is @path that of a provider's library? */
bool provider_is_library(const char *path);

/*
 * The provider's function of that name, or NULL if its library is not loaded. In a series of
 * look-ups *@absent, NULL at first, is the library that was last found not to be loaded, and is not
 * searched for again: that would take four system calls for each function.
 */
void *provider_find(const char *name, const char **absent);

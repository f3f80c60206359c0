#pragma once
/*
 * dlsym() and dlvsym() of libc itself, past those that we stand before. Any
 * thread.
 */

/* dlvsym(3) of @handle, which is of dlopen(3). */
void *dl_symbol(void *handle, const char *name, const char *version);

/* dlsym(3), with RTLD_DEFAULT as we see it. */
void *dl_plain(void *handle, const char *name);

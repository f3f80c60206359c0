#pragma once
/*
 * dlsym() and dlvsym() of libc itself, past those that we stand before. Any
 * thread.
 */

/* dlvsym(3); RTLD_NEXT is what comes after us. */
void *dl_symbol(void *handle, const char *name, const char *version);

/* dlsym(3), with RTLD_DEFAULT as we see it. */
void *dl_plain(void *handle, const char *name);

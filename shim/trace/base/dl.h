#pragma once
/*
 * dlsym() and dlvsym() of libc itself, not the replacements in lookup.c. Any thread.
 */

/* dlvsym(3); RTLD_NEXT starts after this library. */
void *dl_symbol(void *handle, const char *name, const char *version);

/* dlsym(3); RTLD_DEFAULT is relative to this library. */
void *dl_plain(void *handle, const char *name);

/* libc's functions, as dl_find_next() has found them: x86-64 alone. */
typedef void *dl_sym_fn(void *handle, const char *name);
typedef void *dl_vsym_fn(void *handle, const char *name, const char *version);
extern dl_sym_fn *dl_sym_next __attribute__((visibility("hidden")));
extern dl_vsym_fn *dl_vsym_next __attribute__((visibility("hidden")));
void dl_find_next(void);

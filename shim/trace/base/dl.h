#pragma once
/*
 * dlsym() and dlvsym() of libc itself, not the replacements in lookup.c. Any thread.
 */

/* dlvsym(3); RTLD_NEXT starts after this library. */
void *dl_symbol(void *handle, const char *name, const char *version);

/* dlsym(3); RTLD_DEFAULT is relative to this library. */
void *dl_plain(void *handle, const char *name);

/* libc's functions, set by dl_find_next(): only on x86-64. */
typedef void *dl_sym_fn(void *handle, const char *name);
typedef void *dl_vsym_fn(void *handle, const char *name, const char *version);
extern dl_sym_fn *dl_sym_next __attribute__((visibility("hidden")));
extern dl_vsym_fn *dl_vsym_next __attribute__((visibility("hidden")));
void dl_find_next(void);

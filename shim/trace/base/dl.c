/*
 * dlsym() and dlvsym() of libc itself
 *
 * Both are interposed (lookup.c), so libc's own functions cannot be found with dlsym(). They are
 * found in libc's table of dynamic symbols (object.c).
 */
#include "shim/trace/base/dl.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "shim/trace/base/object.h"
#include "shim/trace/base/prefix.h"

#ifdef __x86_64__

dl_sym_fn *dl_sym_next;
dl_vsym_fn *dl_vsym_next;

static const char *base_name(const char *path)
{
	const char *name = path;

	for (; path && *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

/*
 * Note a library. Until both functions are found, no function of libc may be called that a
 * sanitizer interposes.
 */
static void note_library(const struct link_map *map)
{
	const char *name = base_name(map->l_name);
	struct object o;

	if (!name || (!has_prefix(name, "libc.so.6") && !has_prefix(name, "libdl.so.2")) ||
	    !object_read_map(map, &o))
		return;
	if (!dl_vsym_next)
		dl_vsym_next = (dl_vsym_fn *)object_symbol(&o, "dlvsym");
	if (!dl_sym_next)
		dl_sym_next = (dl_sym_fn *)object_symbol(&o, "dlsym");
}

/*
 * Several threads may do this at once: all find the same. libc is near the start of the loader's
 * list and is never removed, so no lock is needed to iterate that far. dl_iterate_phdr() would take
 * a lock, and sanitizers interpose it.
 */
void dl_find_next(void)
{
	for (const struct link_map *map = _r_debug.r_map; map && (!dl_sym_next || !dl_vsym_next);
	     map = map->l_next)
		note_library(map);
}

void *dl_symbol(void *handle, const char *name, const char *version)
{
	dl_find_next();
	return dl_vsym_next(handle, name, version);
}

void *dl_plain(void *handle, const char *name)
{
	dl_find_next();
	return dl_sym_next(handle, name);
}

#else

void *dl_symbol(void *handle, const char *name, const char *version)
{
	return dlvsym(handle, name, version);
}

void *dl_plain(void *handle, const char *name)
{
	return dlsym(handle, name);
}

#endif

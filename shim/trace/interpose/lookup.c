/*
 * Programs that look up the functions of libibverbs themselves
 *
 * NCCL, ctypes and plug-ins open the library with dlopen(3) and look up functions in its handle, so
 * that a preloaded function is not found. So dlsym(3) and dlvsym(3) are interposed: they return the
 * recorder's function if the program would get the function of that name of libibverbs, librdmacm
 * or the software device.
 *
 * All other look-ups continue in libc by a jump: RTLD_NEXT and RTLD_DEFAULT depend on the caller,
 * which libc finds by the return address.
 *
 * Not here: libc's own dlsym() and dlvsym() (dl.c).
 */
#ifdef __x86_64__

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/wire/desc.h"
#include "shim/trace/base/dl.h"
#include "shim/trace/base/jump.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/base/next.h"
#include "shim/trace/base/object.h"
#include "shim/trace/base/started.h"
#include "shim/trace/interpose/import.h"

/* The exported verb with the name @name, or -1. */
static int find_exported(const char *name)
{
	if (strncmp(name, "ibv_", 4) && strncmp(name, "_ibv_", 5) && strncmp(name, "rdma_", 5))
		return -1;
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verb_infos[verb].symbol && !strcmp(verb_infos[verb].symbol, name))
			return verb;
	return -1;
}

/* Is @function in an interposed library? */
static bool is_verb(const void *function)
{
	static const char *const libraries[] = { "libibverbs.so", "librdmacm.so",
						 "libverbatim-soft.so" };
	const char *name;
	Dl_info info;

	if (!function || !dladdr(function, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}

/* The recorder's function for @verb, looked up only in this library. */
static void *find_our_verb(int verb)
{
	static _Atomic(void *) self;
	void *handle = atomic_load_explicit(&self, memory_order_relaxed);
	Dl_info info;

	if (!handle && dladdr((void *)dl_symbol, &info))
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	atomic_store_explicit(&self, handle, memory_order_relaxed);
	return handle ? dl_vsym_next(handle, verb_infos[verb].symbol, verb_infos[verb].node) : NULL;
}

static void *find_real_symbol(void *handle, const char *name, const char *version)
{
	return version ? dl_vsym_next(handle, name, version) : dl_sym_next(handle, name);
}

/*
 * The result of RTLD_NEXT for an object with which the program was started: the loader's list has
 * these objects in search order. NULL: @map is not such an object.
 */
static void *find_next_of(const struct link_map *map, const char *name)
{
	void *at = NULL;

	while (!at && started_has_object(map->l_ld) && (map = map->l_next)) {
		struct object o;

		if (started_has_object(map->l_ld) && object_read_map(map, &o))
			at = object_symbol(&o, name);
	}
	return at;
}

/* The result of RTLD_DEFAULT, which also searches the libraries that the calling library needs. */
static void *find_default_of(const char *path, const char *name, const char *version)
{
	void *at = find_real_symbol(RTLD_DEFAULT, name, version), *handle;

	if (at || !(handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD)))
		return at;
	at = find_real_symbol(handle, name, version);
	NEXT(dlclose)(handle);
	return at;
}

/*
 * The replacement of a function that is not exported, if the real function would be found for this
 * caller.
 */
static void *replacement_of_import(void *handle, const char *name, const char *version,
				   const void *caller)
{
	struct link_map *map;
	void *found = NULL;
	Dl_info info;

	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		found = find_real_symbol(handle, name, version);
	else if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	else if (handle == RTLD_DEFAULT)
		found = find_default_of(info.dli_fname, name, version);
	else if (!version || import_is_of(name, version))
		found = find_next_of(map, name);
	return found ? import_replacement(name, found) : NULL;
}

/*
 * The function that the program gets instead of the requested symbol; NULL: the symbol itself.
 * @version may be NULL; @caller is an address in the calling code.
 */
void *dl_find_replacement(void *handle, const char *name, const char *version, const void *caller);

void *dl_find_replacement(void *handle, const char *name, const char *version, const void *caller)
{
	const void *found;
	int verb;

	dl_find_next();
	import_rescan(); /* allowed here: dlsym() takes the loader's lock in any case */
	if (!name)
		return NULL;
	if (import_is_known(name))
		return replacement_of_import(handle, name, version, caller);
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return NULL; /* libc already finds the recorder's function */
	verb = find_exported(name);
	if (verb < 0 || (version && strcmp(version, verb_infos[verb].node)))
		return NULL;
	found = find_real_symbol(handle, name, version);
	/* do not replace functions of a second libibverbs (dlmopen, another path) */
	return is_verb(found) && found == next_symbol((enum verb)verb) ? find_our_verb(verb) : NULL;
}

JUMP_FUNCTION(dlsym, "	xor %edx, %edx\n	mov " JUMP_CALLER ", %rcx\n", dl_find_replacement,
	      JUMP_UNLESS(dl_sym_next));
JUMP_FUNCTION(dlvsym, "	mov " JUMP_CALLER ", %rcx\n", dl_find_replacement,
	      JUMP_UNLESS(dl_vsym_next));

#endif

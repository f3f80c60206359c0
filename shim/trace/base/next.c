/*
 * The original functions
 *
 * RTLD_NEXT finds the library that comes after this one in the program's global scope: the software
 * device when it is preloaded, else rdma-core. It finds nothing if libibverbs was loaded with
 * RTLD_LOCAL (Python, plug-ins): then the library is opened by its name. The same applies to
 * librdmacm, and to a provider's library if it is loaded. A result that is the recorder's own
 * function counts as not found.
 *
 * A program with plug-ins may unload such libraries, and load them again at other addresses. So
 * after each dlclose() that has unloaded a library, functions in libraries that can be unloaded are
 * looked up again, or forgotten.
 */
#include "shim/trace/base/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/trace/base/dl.h"
#include "shim/trace/base/forks.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/provider.h"
#include "shim/trace/base/self.h"
#include "shim/trace/base/started.h"
#include "shim/trace/base/undo.h"

_Atomic(void *) next_found[VERB_COUNT];
/* addresses that identify the libraries; NULL: never unloaded */
static _Atomic(void *) homes[VERB_COUNT];
static atomic_bool may_go; /* is one of @homes not NULL? */

static const char cm_library[] = "librdmacm.so.1", verbs_library[] = "libibverbs.so.1";

/*
 * No reference is taken to a library that is already loaded, so that the program's dlclose()
 * unloads it; but to one that this function loads.
 */
static void *find_in_library(const struct verb_info *info, int flags, const char **absent)
{
	const char *name = info->via == VIA_CM ? cm_library : verbs_library;
	void *loaded, *lib, *at;

	if (*absent == name)
		return NULL;
	loaded = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	lib = loaded || flags & RTLD_NOLOAD ? loaded : dlopen(name, RTLD_LAZY | RTLD_LOCAL | flags);
	if (!lib) {
		*absent = name;
		return NULL;
	}
	at = dl_symbol(lib, info->symbol, info->node);
	if (loaded)
		NEXT(dlclose)(loaded);
	return self_contains(at) ? NULL : at;
}

/* @flags: RTLD_NOLOAD for a library that the program may not use. @absent: see provider_find(). */
static void *find_symbol(const struct verb_info *info, int flags, const char **absent)
{
	/*
	 * in a running program this library is not in the global scope, so RTLD_NEXT finds nothing
	 */
	void *at = dl_symbol(undo_is_on() ? RTLD_DEFAULT : RTLD_NEXT, info->symbol, info->node);

	if (at && !self_contains(at))
		return at;
	return info->via == VIA_DV ? provider_find(info->symbol, absent)
				   : find_in_library(info, flags, absent);
}

static void *find_library_base(const void *at)
{
	struct link_map *map;
	Dl_info info;

	if (!at || !dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) ||
	    started_has_object(map->l_ld))
		return NULL;
	return info.dli_fbase;
}

/*
 * Store the function found at @at. @was: the previous value. A concurrent reset takes precedence.
 */
static void *note_found(enum verb verb, void *was, void *at)
{
	void *home = find_library_base(at);

	if (at)
		at = CALL_BACK(next_tamper)(verb, at);
	if (home)
		atomic_store(&may_go, true);
	atomic_store(&homes[verb], home);
	atomic_compare_exchange_strong(&next_found[verb], &was, at);
	return at;
}

void *next_find(enum verb verb)
{
	int saved = errno;
	const char *absent = NULL;
	void *at = note_found(verb, NULL, find_symbol(&verb_infos[verb], 0, &absent));

	errno = saved;
	return at;
}

static void find_loaded(enum verb verb, const char **absent)
{
	void *was = next_known(verb), *at = find_symbol(&verb_infos[verb], RTLD_NOLOAD, absent);

	if (at != was)
		note_found(verb, was, at);
}

void next_find_loaded(enum verb verb)
{
	const char *absent = NULL;

	find_loaded(verb, &absent);
}

void next_find_all(void)
{
	const char *absent = NULL;

	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verb_infos[verb].symbol && !next_known((enum verb)verb))
			find_loaded((enum verb)verb, &absent);
}

static int count_unloads(struct dl_phdr_info *info, size_t size, void *ret_n)
{
	(void)size;
	*(unsigned long long *)ret_n = info->dlpi_subs;
	return 1;
}

/*
 * Check whether libraries were unloaded. All functions of a library are unloaded together, so one
 * of them is checked for all.
 */
static void check_libraries(void)
{
	void *stays = NULL;

	for (int verb = 0; verb < VERB_COUNT; verb++) {
		void *was = next_known((enum verb)verb), *home = atomic_load(&homes[verb]);

		if (!was || !home || home == stays)
			continue;
		next_find_loaded((enum verb)verb);
		stays = next_known((enum verb)verb) == was ? home : stays;
	}
}

static void forget_all(void)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (atomic_load(&homes[verb]))
			atomic_store(&next_found[verb], NULL);
}

/*
 * Two threads may call this at once. The second thread must not wait, since it may hold the
 * loader's lock, which the first one needs. So the first thread checks everything again if there
 * were other calls meanwhile.
 */
void next_forget_unloaded(void)
{
	static atomic_ullong seen;
	static atomic_bool checking;
	unsigned long long unloads;
	int saved = errno;

	if (!atomic_load(&may_go))
		return;
	forks_hold();
	dl_iterate_phdr(count_unloads, &unloads);
	if (atomic_load(&seen) != unloads &&
	    (!permit_has(NEED_LOAD) || atomic_exchange(&checking, true))) {
		forget_all();
	} else if (atomic_load(&seen) != unloads) {
		check_libraries();
		atomic_store(&seen, unloads);
		atomic_store(&checking, false);
	}
	forks_release();
	errno = saved;
}

int64_t fail_missing_verb(enum verb verb)
{
	errno = EOPNOTSUPP;
	if (verb_infos[verb].via == VIA_CM) /* all of librdmacm's calls with an int result */
		return verb_infos[verb].fail == FAIL_NONZERO ? -1 : 0;
	switch (verb_infos[verb].fail) {
	case FAIL_NONZERO:
		return EOPNOTSUPP;
	case FAIL_NEGATIVE:
		return -1;
	default:
		return 0;
	}
}

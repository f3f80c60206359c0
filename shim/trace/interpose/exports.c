/*
 * Import slots of the verbs
 *
 * If a program is started with the recorder, the loader finds the recorder's functions first. In a
 * running program, the slots already have the addresses of the libraries' functions or, if they are
 * bound lazily and were not called yet, of a stub in their own object. So each slot is replaced.
 *
 * Not here: verbs that only newer libraries have (import.c); functions that the program has looked
 * up with dlsym(), which cannot be found.
 */
#include "shim/trace/interpose/exports.h"

#ifdef __x86_64__

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "core/wire/desc.h"
#include "shim/trace/base/dl.h"
#include "shim/trace/base/next.h"
#include "shim/trace/base/object.h"
#include "shim/trace/base/prefix.h"
#include "shim/trace/base/self.h"
#include "shim/trace/base/undo.h"

/* The recorder's function for each verb that it exports. */
static void *ours[VERB_COUNT];

static void find_our_verbs(void)
{
	Dl_info info;
	void *self = dladdr((void *)exports_hook, &info)
			     ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			     : NULL;

	for (int verb = 0; self && verb < VERB_COUNT; verb++)
		if (verb_infos[verb].symbol && !verb_infos[verb].later)
			ours[verb] =
				dl_symbol(self, verb_infos[verb].symbol, verb_infos[verb].node);
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (!self_contains(ours[verb]))
			ours[verb] = NULL;
}

static int find_verb(const char *name)
{
	if (!has_prefix(name, "ibv_") && !has_prefix(name, "_ibv_") && !has_prefix(name, "rdma_"))
		return -1;
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (ours[verb] && !strcmp(verb_infos[verb].symbol, name))
			return verb;
	return -1;
}

static void hook_slot(const struct object *o, void **slot, const char *name, bool raw)
{
	int verb = raw ? -1 : find_verb(name);

	/*
	 * otherwise it is the program's own function with that name, or another version of the
	 * function
	 */
	if (verb >= 0 && next_known((enum verb)verb) &&
	    (*slot == next_known((enum verb)verb) || object_is_unbound(o, *slot)))
		object_write_slot(o, slot, ours[verb]);
}

static void restore_slot(const struct object *o, void **slot, const char *name, bool raw)
{
	void *was = !raw && self_contains(*slot) ? undo_find(slot) : NULL;

	(void)name;
	if (was)
		object_write_slot(o, slot, was);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *visit)
{
	struct object o;

	(void)size;
	if (object_read(info, &o) && o.dynamic && !self_contains(o.dynamic))
		object_each_slot(&o, (object_slot_fn *)visit);
	return 0;
}

void exports_hook(void)
{
	next_find_all();
	find_our_verbs();
	dl_iterate_phdr(each_object, (void *)hook_slot);
}

void exports_restore(void)
{
	dl_iterate_phdr(each_object, (void *)restore_slot);
}

#else

void exports_hook(void)
{
}

void exports_restore(void)
{
}

#endif

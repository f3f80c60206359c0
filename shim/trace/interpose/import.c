/*
 * Imports of loaded objects, and calls that bypass the verbs
 *
 * Two kinds of functions are interposed without being exported, since a program may test whether
 * they exist (by a weak symbol or dlsym()) and must get the same answer as without the recorder:
 *
 *	verbs that only newer versions of libibverbs have, and providers' functions that
 *	create objects of the verbs (mlx5dv_create_qp): listed, and recorded like others
 *	other functions of providers (mlx5dv_init_obj): only the fact of a call is
 *	recorded, since with them the program can move data that the recorder does not see
 *
 * An object that imports such a function has a slot for its address (object.c); the address of the
 * recorder's function is written to it.
 *
 * When the program begins, and when it calls dlsym() after it has loaded more objects, all objects
 * are processed twice: first to find their imports; then, after the real functions were looked up,
 * which cannot be done with the loader's lock held, to find the slots with their addresses. An
 * object that is first found in a call stack is processed separately. If a program imports no such
 * function, nothing is looked up or written.
 *
 * Not here: recording a verb (gen/wrappers_gen.h).
 */
#include "shim/trace/interpose/import.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/desc.h"
#include "shim/trace/base/forks.h"
#include "shim/trace/base/next.h"
#include "shim/trace/base/object.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/prefix.h"
#include "shim/trace/base/provider.h"
#include "shim/trace/base/stub.h"
#include "shim/trace/ring/record.h"

enum { NAME = 56, VERB_NONE = -1, TRIES = 1000 };

static int find_later_verb(const char *name)
{
	bool may_be = has_prefix(name, "ibv_") || provider_has(name);

	for (int verb = 0; may_be && verb < VERB_COUNT; verb++)
		if (verb_infos[verb].later && verb_infos[verb].symbol &&
		    !strcmp(verb_infos[verb].symbol, name))
			return verb;
	return VERB_NONE;
}

bool import_is_known(const char *name)
{
	return find_later_verb(name) != VERB_NONE || provider_has(name);
}

bool import_is_of(const char *name, const char *version)
{
	int verb = find_later_verb(name);

	return verb != VERB_NONE && !strcmp(verb_infos[verb].node, version);
}

#ifdef __x86_64__

/*
 * A function that is interposed. There may be several imports with one name: a provider has two
 * versions of the function, or was unloaded and loaded at another address. In the first import with
 * a name, @now is the one for slots that are not bound yet.
 */
struct import {
	char name[NAME];
	void *real;               /* NULL: not known yet */
	bool asked;               /* its current address must be looked up */
	const struct import *now; /* the result of the last look-up; NULL: not known */
	bool blind;               /* a slot for it could not be written */
	bool reported;
};

static struct import imports[STUBS]; /* for functions of providers, stub i belongs to imports[i] */
static unsigned int nimports;
static bool missed;                             /* some imports did not fit into the table */
static uint64_t wanted[(VERB_COUNT + 63) / 64]; /* by verb: does an object import it? */

/*
 * The process whose thread is using the table: in a child, a value inherited from the parent is
 * invalid.
 */
static _Atomic pid_t holder;

static bool lock_imports(void)
{
	pid_t me = permit_getpid();

	for (int i = 0; i < TRIES; i++) {
		pid_t was = atomic_load(&holder);

		if (was != me && atomic_compare_exchange_strong(&holder, &was, me))
			return true;
		permit_sched_yield();
	}
	return false; /* do not wait longer: the next look-up tries again */
}

static void unlock_imports(void)
{
	atomic_store(&holder, 0);
}

static struct import *find_first_import(const char *name)
{
	for (unsigned int i = 0; i < nimports; i++)
		if (!strcmp(imports[i].name, name))
			return &imports[i];
	return NULL;
}

/* The import with @name and address @real; NULL: the address is not known. */
static struct import *find_import(const char *name, const void *real)
{
	for (unsigned int i = 0; i < nimports; i++)
		if (imports[i].real == real && !strcmp(imports[i].name, name))
			return &imports[i];
	return NULL;
}

static struct import *find_or_add_import(const char *name, void *real)
{
	struct import *import = find_import(name, real);

	if (import)
		return import;
	if (nimports == STUBS || strlen(name) >= NAME) {
		missed = true;
		return NULL;
	}
	import = &imports[nimports++];
	*import = (struct import){ .real = real };
	strcpy(import->name, name);
	return import;
}

static void record_direct(const char *name, enum event_direct_how how)
{
	size_t bytes = strlen(name);
	struct event_direct *event;

	if (!record_ready())
		return;
	event = record_reserve(sizeof(*event) + NAME);
	if (!event)
		return;
	record_head(&event->head, EVENT_DIRECT, record_ticks());
	event->how = (uint16_t)how;
	event->bytes = (uint16_t)bytes;
	event->pad = 0;
	memcpy(event + 1, name, bytes);
	record_commit(&event->head, (sizeof(*event) + bytes + 7) / 8);
}

static void note_call(unsigned int index)
{
	record_direct(imports[index].name, DIRECT_CALLED);
}

REGISTER(stub_called, note_call)

static void *stub_of(const struct import *import)
{
	return stub_to((unsigned int)(import - imports), import->real);
}

static bool is_known_library(const char *path)
{
	const char *base = strrchr(path, '/');

	return has_prefix(base ? base + 1 : path, "libibverbs.so") || provider_is_library(path);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *visit)
{
	struct object o;

	(void)size;
	if (object_read(info, &o) && object_needs(&o, is_known_library))
		object_each_slot(&o, (object_slot_fn *)visit);
	return 0;
}

static bool fresh; /* a slot may need to be changed */
static bool half;  /* the loader still has to write an address into a slot */

/*
 * Request a look-up of @name: if its library was loaded again, an unbound slot may get another
 * address.
 */
static void request_lookup(const char *name)
{
	struct import *import = find_first_import(name);

	if (!import)
		import = find_or_add_import(name, NULL);
	if (import)
		import->asked = true;
}

static void note_slot(const struct object *o, void **slot, const char *name, bool raw)
{
	int verb = find_later_verb(name);

	if (raw) {
		half = half || verb != VERB_NONE || provider_has(name);
	} else if (verb != VERB_NONE) {
		wanted[verb / 64] |= 1ull << (verb % 64);
		fresh = fresh || *slot != CALL_BACK(import_later)((enum verb)verb);
	} else if (provider_has(name) && !stub_is(*slot)) {
		if (object_is_unbound(o, *slot))
			request_lookup(name);
		else
			find_or_add_import(name, *slot);
		fresh = true;
	}
}

static void hook_verb(const struct object *o, void **slot, enum verb verb)
{
	void *real = atomic_load_explicit(&next_found[verb], memory_order_relaxed);

	/* otherwise it is the program's own function with that name */
	if (real && (*slot == real || object_is_unbound(o, *slot)))
		object_write_slot(o, slot, CALL_BACK(import_later)(verb));
}

/* The import for a slot that is not bound; NULL: it must be looked up first. */
static const struct import *find_looked_up(const char *name)
{
	const struct import *first = find_first_import(name);

	return first && !first->asked ? first->now : NULL;
}

/*
 * Note that a slot could not be written. If the table is full, this is noted in another import with
 * that name, or import_report() reports it for all.
 */
static void note_unwritable(const char *name)
{
	struct import *first = find_first_import(name);

	if (first)
		first->blind = true;
}

static void hook_slot(const struct object *o, void **slot, const char *name, bool raw)
{
	int verb = find_later_verb(name);
	const struct import *import;

	if (raw)
		return;
	if (verb != VERB_NONE) {
		hook_verb(o, slot, (enum verb)verb);
		return;
	}
	if (!provider_has(name) || stub_is(*slot))
		return;
	import = object_is_unbound(o, *slot) ? find_looked_up(name) : find_import(name, *slot);
	if (!import || object_write_slot(o, slot, stub_of(import)))
		note_unwritable(name);
}

static void look_up_import(struct import *import)
{
	const char *absent = NULL;
	void *real = provider_find(import->name, &absent);

	if (!import->real)
		import->real = real;
	import->now = real ? find_or_add_import(import->name, real) : NULL;
	import->asked = false;
}

static void look_up_pending(void)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (wanted[verb / 64] >> (verb % 64) & 1)
			next_find_loaded((enum verb)verb);
	for (unsigned int i = 0; i < nimports; i++)
		if (imports[i].asked)
			look_up_import(&imports[i]);
}

/* Report functions that may be called without being counted. */
void import_report(void)
{
	static atomic_bool reported;

	for (unsigned int i = 0; i < nimports; i++) {
		if (imports[i].blind && !imports[i].reported)
			record_direct(imports[i].name, DIRECT_LINKED);
		imports[i].reported |= imports[i].blind;
	}
	if (missed && !atomic_exchange(&reported, true))
		record_report_blind(BLIND_IMPORTS, NULL);
}

static atomic_bool looked; /* checked first: a sanitizer calls dlsym() early */
/* number of loads and unloads when all objects were processed last; 0: never */
static atomic_ullong seen;

void import_scan_all(void)
{
	int saved = errno;

	atomic_store(&looked, true);
	if (!lock_imports()) {
		atomic_store(&seen, 0);
		return;
	}
	fresh = half = false;
	dl_iterate_phdr(each_object, (void *)note_slot);
	if (fresh) {
		look_up_pending();
		dl_iterate_phdr(each_object, (void *)hook_slot);
	}
	if (half)
		atomic_store(&seen, 0);
	unlock_imports();
	errno = saved;
}

static int count_changes(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

void import_rescan(void)
{
	static __thread bool looking __attribute__((tls_model("initial-exec")));
	unsigned long long now = 0;

	if (!permit_has(NEED_PATCH | NEED_LOAD))
		return;
	if (looking || !atomic_load_explicit(&looked, memory_order_relaxed) || !recording_is_on())
		return;
	looking = true; /* the recorder's own look-ups call this function again */
	forks_hold();
	dl_iterate_phdr(count_changes, &now);
	if (atomic_exchange(&seen, now) != now) {
		import_scan_all();
		import_report();
	}
	forks_release();
	looking = false;
}

/* Process one object. If functions must be looked up, import_scan_all() does that later. */
void import_scan(const struct dl_phdr_info *info)
{
	struct dl_phdr_info object = *info;
	int saved = errno;

	if (!permit_has(NEED_PATCH) || !lock_imports())
		return;
	fresh = false;
	each_object(&object, sizeof(object), (void *)note_slot);
	if (fresh)
		each_object(&object, sizeof(object), (void *)hook_slot);
	unlock_imports();
	import_report();
	errno = saved;
}

static void *replacement_of_verb(enum verb verb, const void *found)
{
	return found == next_symbol(verb) ? CALL_BACK(import_later)(verb) : NULL;
}

void *import_replacement(const char *name, void *found)
{
	int verb = find_later_verb(name);
	struct import *import;

	if (verb != VERB_NONE)
		return replacement_of_verb((enum verb)verb, found);
	if (!provider_has(name) || stub_is(found) || !lock_imports())
		return NULL;
	import = find_or_add_import(name, found);
	unlock_imports();
	return import ? stub_of(import) : NULL;
}

#else

void import_scan_all(void)
{
}

void import_rescan(void)
{
}

void import_scan(const struct dl_phdr_info *info)
{
	(void)info;
}

void import_report(void)
{
}

void *import_replacement(const char *name, void *found)
{
	(void)name, (void)found;
	return NULL;
}

#endif

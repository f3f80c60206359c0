/*
 * The object files of this process, without the loader's lock
 *
 * A thread may hold the loader's lock, in a constructor or in dl_iterate_phdr(), while it waits for
 * a thread that calls a verb. So a verb never takes this lock. The file at an address can be found
 * without it (locate.c), and that is sufficient for stacks: an EVENT_MODULE is written when a file
 * is first found in a stack.
 *
 *	table   start of a file -> the file last seen there
 *
 * Another file may be mapped at the same address later, so each file gets a serial number, and a
 * stack has the highest serial number of its files. After an unload (dlclose() is interposed) each
 * file is checked once more: if it has the same path and build id at the same address, it is still
 * the same file.
 */
#include "shim/trace/stack/modules.h"

#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "shim/trace/base/libc.h"
#include "shim/trace/base/next.h"
#include "shim/trace/base/started.h"
#include "shim/trace/interpose/import.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/stack/locate.h"

enum {
	MODULES = 4096, /* maximum known files; an entry of the table is never freed */
	PLACES = 2 * MODULES,
	PATH_BYTES = 1024,
	BUILD_ID = 32,
};

typedef ElfW(Phdr) elf_phdr;
typedef ElfW(Nhdr) elf_nhdr;

struct module {
	uintptr_t start, end;
	uint64_t what; /* hash of its path and build id */
	uint32_t serial;
	_Atomic uint32_t checked; /* value of modules_unloads() when the file was last checked */
};

static struct module list[MODULES];
static _Atomic uint32_t known;
static _Atomic(struct module *) places[PLACES];
static _Atomic uint32_t serials;

_Atomic uint32_t modules_unloaded;

OURS int dlclose(void *handle)
{
	int ret = NEXT(dlclose)(handle);

	atomic_fetch_add_explicit(&modules_unloaded, 1, memory_order_release);
	if (!ret)
		next_forget_unloaded();
	return ret;
}

/* Is the note loaded? A header may refer to notes that were not loaded and cannot be read. */
static bool is_loaded(const struct dl_phdr_info *info, const elf_phdr *note)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const elf_phdr *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R && note->p_vaddr >= ph->p_vaddr &&
		    note->p_vaddr + note->p_memsz <= ph->p_vaddr + ph->p_memsz)
			return true;
	}
	return false;
}

/* The note with the build id, in a loaded segment; or NULL. */
static const elf_nhdr *find_build_id(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const elf_phdr *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + ph->p_vaddr;
		const char *end = at + ph->p_memsz;

		if (ph->p_type != PT_NOTE || !is_loaded(info, ph))
			continue;
		while (at + sizeof(elf_nhdr) < end) {
			const elf_nhdr *note = (const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    note->n_descsz <= BUILD_ID &&
			    at + sizeof(*note) + 4 + note->n_descsz <= end &&
			    !memcmp(note + 1, "GNU", 4))
				return note;
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) +
			      ((note->n_descsz + 3) & ~3u);
		}
	}
	return NULL;
}

static size_t module_path(const struct dl_phdr_info *info, char *text)
{
	size_t n = strnlen(info->dlpi_name, PATH_BYTES);
	ssize_t exe;

	if (n) {
		memcpy(text, info->dlpi_name, n);
		return n;
	}
	/* the name of the program itself is empty */
	exe = readlink("/proc/self/exe", text, PATH_BYTES);
	return exe > 0 ? (size_t)exe : 0;
}

/* Write an EVENT_MODULE. False: it could not be written. */
static bool write_module(const struct loaded_file *found, uint32_t serial)
{
	const elf_nhdr *note = find_build_id(&found->info);
	struct event_module *event = record_reserve(sizeof(*event) + PATH_BYTES + BUILD_ID + 8);
	size_t bytes;
	char *text;

	if (!event)
		return false;
	text = (char *)(event + 1);
	record_head(&event->head, EVENT_MODULE, record_ticks());
	event->base = found->info.dlpi_addr;
	event->start = found->start;
	event->end = found->end;
	event->path_bytes = (uint16_t)module_path(&found->info, text);
	event->build_id_bytes = note ? (uint16_t)note->n_descsz : 0;
	event->serial = serial;
	if (note)
		memcpy(text + event->path_bytes, (const char *)(note + 1) + 4, note->n_descsz);
	bytes = (size_t)event->path_bytes + event->build_id_bytes;
	record_commit(&event->head, sizeof(*event) / 8 + (bytes + 7) / 8);
	return true;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
	return hash;
}

static uint64_t hash_module(const struct loaded_file *found)
{
	const elf_nhdr *note = find_build_id(&found->info);
	uint64_t hash = hash_bytes(0xcbf29ce484222325ull, found->info.dlpi_name,
				   strlen(found->info.dlpi_name));

	return note ? hash_bytes(hash, (const char *)(note + 1) + 4, note->n_descsz) : hash;
}

/* The entry of files that start at @start, or an empty entry for it; NULL: all are in use. */
static _Atomic(struct module *) *index_of(uintptr_t start)
{
	uint64_t hash = (uint64_t)start * 0x9e3779b97f4a7c15ull >> 32;

	for (unsigned int i = 0; i < PLACES; i++) {
		_Atomic(struct module *) *at = &places[(hash + i) % PLACES];
		struct module *module = atomic_load_explicit(at, memory_order_acquire);

		if (!module || module->start == start)
			return at;
	}
	return NULL;
}

static bool overlaps_known_module(const struct loaded_file *found)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		const struct module *module =
			atomic_load_explicit(&places[i], memory_order_acquire);

		if (module && module->start < found->end && module->end > found->start)
			return true;
	}
	return false;
}

/* Give up a file that cannot be stored: if it were written, it would be written with each stack. */
static uint32_t give_up_module(const struct loaded_file *found)
{
	static atomic_bool reported;

	if (!atomic_exchange(&reported, true))
		record_report_blind(BLIND_MODULES, (const void *)found->start);
	return atomic_load(&serials);
}

/*
 * Write the event of a file, then add the file to the list, unless the event was lost. Two threads
 * may do this at the same time: their events are equal.
 */
static uint32_t add_module(const struct loaded_file *found, uint64_t what, uint32_t now,
			   _Atomic(struct module *) *at)
{
	uint32_t serial, i = atomic_load_explicit(&known, memory_order_relaxed);

	if (recorder.writing) /* in a signal handler whose events are lost */
		return atomic_load(&serials);
	if (i >= MODULES || !at)
		return give_up_module(found);
	import_scan(&found->info);
	serial = atomic_fetch_add(&serials, 1) + 1;
	if (!write_module(found, serial))
		return serial;
	i = atomic_fetch_add(&known, 1);
	if (i >= MODULES)
		return serial;
	list[i] = (struct module){ found->start, found->end, what, serial, now };
	/* pairs with the load in index_of() */
	atomic_store_explicit(at, &list[i], memory_order_release);
	return serial;
}

/* The serial number of the file that is mapped now. A new file is also written. */
static uint32_t note_module(const struct loaded_file *found, bool *replaced)
{
	uint32_t now = modules_unloads();
	_Atomic(struct module *) *at = index_of(found->start);
	struct module *module = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
	uint64_t what;

	if (module && module->end == found->end &&
	    atomic_load_explicit(&module->checked, memory_order_relaxed) == now)
		return module->serial;
	what = hash_module(found);
	if (module && module->end == found->end && module->what == what) {
		atomic_store_explicit(&module->checked, now, memory_order_relaxed);
		return module->serial;
	}
	*replaced |= now && overlaps_known_module(found);
	return add_module(found, what, now, at);
}

struct modules_seen modules_note_all(void *const *addresses, unsigned int n)
{
	struct modules_seen seen = { 0, false };
	struct loaded_file found = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		uintptr_t address = (uintptr_t)addresses[i];
		uint32_t serial;

		if (address >= found.start && address < found.end)
			continue; /* same file as for the previous address */
		if (!locate_object(addresses[i], &found)) {
			found = (struct loaded_file){ 0 };
			continue;
		}
		serial = note_module(&found, &seen.replaced);
		if (serial > seen.serial)
			seen.serial = serial;
	}
	return seen;
}

void modules_write_started(void)
{
	unsigned int n;
	void *const *objects = started_objects(&n);

	for (unsigned int i = 0; i < n; i++)
		modules_note_all(&objects[i], 1);
}

void modules_forget(void)
{
	for (unsigned int i = 0; i < PLACES; i++)
		atomic_store(&places[i], NULL);
	atomic_store(&known, 0);
}

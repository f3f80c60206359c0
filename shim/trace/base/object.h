#pragma once
/*
 * An object file in memory: its imports with their slots, and its exports. x86-64.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object file in memory. */
struct object {
	uintptr_t base, start, end;
	uintptr_t relro, relro_end;
	const ElfW(Dyn) *dynamic;
	const char *strings;
	const ElfW(Sym) *symbols;
	const ElfW(Half) *versions;
	const uint32_t *hash;        /* DT_GNU_HASH */
	const ElfW(Rela) *tables[2]; /* DT_RELA, DT_JMPREL */
	size_t sizes[2];
};

/* Read the dynamic section. False: the object has no imports and exports. */
bool object_read(const struct dl_phdr_info *info, struct object *o);

/* The same for an object in the loader's list; its segments are not known. */
bool object_read_map(const struct link_map *map, struct object *o);

/* The symbol that @o exports as @name, in the default version; or NULL. */
void *object_symbol(const struct object *o, const char *name);

/* Is is_one() true for a library that @o needs? */
bool object_needs(const struct object *o, bool (*is_one)(const char *path));

/*
 * Called for each slot that is for the address of a function of another object. @raw: the slot has
 * no address yet, since another thread is still loading the object.
 */
typedef void object_slot_fn(const struct object *o, void **slot, const char *name, bool raw);
void object_each_slot(const struct object *o, object_slot_fn *visit);

/* Is the slot bound lazily, and was its function not called yet? */
static inline bool object_is_unbound(const struct object *o, const void *slot_value)
{
	return (uintptr_t)slot_value >= o->start && (uintptr_t)slot_value < o->end;
}

/* Write @value to the slot; a RELRO page is made writable for this. Returns 0 or -errno. */
int object_write_slot(const struct object *o, void **slot, void *value);

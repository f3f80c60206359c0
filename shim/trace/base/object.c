/*
 * The imports and exports of an object file
 *
 *	PT_DYNAMIC -> DT_NEEDED           the libraries that the object needs
 *	           -> DT_RELA, DT_JMPREL  slot, symbol -> name
 *	           -> DT_GNU_HASH         the number of symbols
 *	           -> DT_SYMTAB           name, address of each, DT_STRTAB
 *	           -> DT_VERSYM           bit 15: not the default of its name
 *
 * A slot that is not bound yet points into the object itself.
 *
 * A sanitizer looks up symbols before its own strcmp() works, so exports are found without libc.
 */
#include "shim/trace/base/object.h"

#ifdef __x86_64__

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/trace/base/undo.h"

enum { VERSION_HIDDEN = 0x8000 };

/* Read a pointer of the dynamic section: the loader has relocated it, but not in every object. */
static const void *read_pointer(const struct object *o, const ElfW(Dyn) *d)
{
	return (const void *)(d->d_un.d_ptr + (d->d_un.d_ptr < o->base ? o->base : 0));
}

static void read_segments(const struct dl_phdr_info *info, struct object *o)
{
	*o = (struct object){ .base = info->dlpi_addr, .start = UINTPTR_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && at < o->start)
			o->start = at;
		if (ph->p_type == PT_LOAD && at + ph->p_memsz > o->end)
			o->end = at + ph->p_memsz;
		if (ph->p_type == PT_DYNAMIC)
			o->dynamic = (const void *)at;
		if (ph->p_type == PT_GNU_RELRO) {
			o->relro = at;
			o->relro_end = at + ph->p_memsz;
		}
	}
}

static bool read_dynamic(struct object *o)
{
	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_STRTAB:
			o->strings = read_pointer(o, d);
			break;
		case DT_SYMTAB:
			o->symbols = read_pointer(o, d);
			break;
		case DT_VERSYM:
			o->versions = read_pointer(o, d);
			break;
		case DT_GNU_HASH:
			o->hash = read_pointer(o, d);
			break;
		case DT_RELA:
			o->tables[0] = read_pointer(o, d);
			break;
		case DT_RELASZ:
			o->sizes[0] = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o->tables[1] = read_pointer(o, d);
			break;
		case DT_PLTRELSZ:
			o->sizes[1] = d->d_un.d_val;
			break;
		}
	}
	return o->strings && o->symbols;
}

bool object_read(const struct dl_phdr_info *info, struct object *o)
{
	read_segments(info, o);
	return o->dynamic && read_dynamic(o);
}

bool object_read_map(const struct link_map *map, struct object *o)
{
	*o = (struct object){ .base = map->l_addr, .dynamic = map->l_ld };
	return o->dynamic && read_dynamic(o);
}

/* The number of symbols: the highest index in a chain of the hash table, plus one. */
static uint32_t count_symbols(const uint32_t *hash)
{
	uint32_t nbuckets = hash[0], first = hash[1], last = 0;
	const uint32_t *buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + nbuckets;

	for (uint32_t i = 0; i < nbuckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	while (last >= first && !(chains[last - first] & 1))
		last++;
	return last + 1;
}

static bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

void *object_symbol(const struct object *o, const char *name)
{
	uint32_t count = o->hash ? count_symbols(o->hash) : 0;

	for (uint32_t i = 1; i < count; i++)
		if (o->symbols[i].st_shndx != SHN_UNDEF &&
		    !(o->versions && (o->versions[i] & VERSION_HIDDEN)) &&
		    same_text(o->strings + o->symbols[i].st_name, name))
			return (void *)(o->base + o->symbols[i].st_value);
	return NULL;
}

bool object_needs(const struct object *o, bool (*is_one)(const char *path))
{
	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && is_one(o->strings + d->d_un.d_val))
			return true;
	return false;
}

/* The slot of a relocation, if it is for the address of a function of another object; else NULL. */
static void **slot_of(const struct object *o, const ElfW(Rela) *r, const ElfW(Sym) *symbol)
{
	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_64:
		if (r->r_addend)
			return NULL;
		break;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		break;
	default:
		return NULL;
	}
	if (symbol->st_shndx != SHN_UNDEF)
		return NULL;
	return (void **)(o->base + r->r_offset);
}

/* Is the slot still to be relocated? Only the slot of a weak symbol may remain NULL. */
static bool is_raw(const struct object *o, int table, const void *slot_value,
		   const ElfW(Sym) *symbol)
{
	if (!slot_value)
		return ELF64_ST_BIND(symbol->st_info) != STB_WEAK;
	return table == 1 && o->base && (uintptr_t)slot_value < o->end - o->base;
}

static void each_slot(const struct object *o, int table, object_slot_fn *visit)
{
	size_t n = o->tables[table] ? o->sizes[table] / sizeof(*o->tables[table]) : 0;

	for (size_t i = 0; i < n; i++) {
		const ElfW(Rela) *r = &o->tables[table][i];
		const ElfW(Sym) *symbol = &o->symbols[ELF64_R_SYM(r->r_info)];
		void **slot = slot_of(o, r, symbol);
		bool raw = slot && is_raw(o, table, *slot, symbol);

		if (slot && (*slot || raw))
			visit(o, slot, o->strings + symbol->st_name, raw);
	}
}

void object_each_slot(const struct object *o, object_slot_fn *visit)
{
	each_slot(o, 0, visit);
	each_slot(o, 1, visit);
}

/*
 * Is the slot read-only? A RELRO slot is writable until the loader, in another thread, has finished
 * loading the object. The test is a futex operation that changes nothing, and fails if the memory
 * is read-only.
 */
static bool is_sealed(void **slot)
{
	static uint32_t nobody_waits;
	int nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);

	return syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP_PRIVATE, 0, NULL, slot, nothing) < 0;
}

int object_write_slot(const struct object *o, void **slot, void *value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = (void *)((uintptr_t)slot & ~(page - 1));
	bool relro = (uintptr_t)slot >= o->relro && (uintptr_t)slot < o->relro_end;
	bool sealed = relro && is_sealed(slot);

	if (relro && mprotect(at, page, PROT_READ | PROT_WRITE))
		return -errno;
	undo_note(slot);
	atomic_store_explicit((_Atomic(void *) *)slot, value, memory_order_release);
	if (sealed)
		mprotect(at, page, PROT_READ);
	return 0;
}

#endif

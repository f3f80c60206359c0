/*
 * The object file at an address
 *
 * glibc 2.35 and newer find it without the loader's lock. With an older glibc, a verb may wait for
 * a thread that holds this lock (docs/ARCHITECTURE.md). LOCATE_BY_WALK selects the older method
 * with any glibc.
 */
#include "shim/trace/stack/locate.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

struct object_search {
	const void *address;
	struct loaded_file *found;
};

static int find_in_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct object_search *search = arg;
	uintptr_t start = UINTPTR_MAX, end = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + ph->p_memsz > end ? at + ph->p_memsz : end;
	}
	if ((uintptr_t)search->address < start || (uintptr_t)search->address >= end)
		return 0;
	*search->found = (struct loaded_file){ start, end, *info };
	return 1;
}

bool locate_by_iteration(const void *address, struct loaded_file *found)
{
	struct object_search search = { address, found };

	return dl_iterate_phdr(find_in_module, &search);
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE) && !defined(LOCATE_BY_WALK)

bool locate_object(const void *address, struct loaded_file *found)
{
	struct dl_find_object object;
	const ElfW(Ehdr) *header;

	if (_dl_find_object((void *)(uintptr_t)address, &object))
		return false;
	header = object.dlfo_map_start;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	found->start = (uintptr_t)object.dlfo_map_start;
	found->end = (uintptr_t)object.dlfo_map_end;
	found->info = (struct dl_phdr_info){
		.dlpi_addr = object.dlfo_link_map->l_addr,
		.dlpi_name = object.dlfo_link_map->l_name,
		.dlpi_phdr = (const void *)((const char *)header + header->e_phoff),
		.dlpi_phnum = header->e_phnum,
	};
	return true;
}

#else

bool locate_object(const void *address, struct loaded_file *found)
{
	return locate_by_iteration(address, found);
}

#endif

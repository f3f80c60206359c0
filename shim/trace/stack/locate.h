#pragma once
/*
 * The object file at an address. Any thread.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A file in the loader's current list. */
struct located {
	uintptr_t start, end;
	struct dl_phdr_info info;
};

/* False: @address is in no file that the loader lists. */
bool locate_object(const void *address, struct located *found);

/*
 * The same by dl_iterate_phdr(), which takes the loader's lock: the only way with glibc before
 * 2.35.
 */
bool locate_by_walk(const void *address, struct located *found);

#pragma once
/*
 * The object file at an address. Any thread.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A file that is currently in the loader's list. */
struct loaded_file {
	uintptr_t start, end;
	struct dl_phdr_info info;
};

/* Find the file at @address. False: it is in no file of the loader's list. */
bool locate_object(const void *address, struct loaded_file *found);

/*
 * The same by dl_iterate_phdr(), which takes the loader's lock: the only way with glibc before
 * 2.35.
 */
bool locate_by_iteration(const void *address, struct loaded_file *found);

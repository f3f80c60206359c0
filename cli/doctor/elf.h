#pragma once
/*
 * How the dynamic linker will load a file, read with libelf.
 *
 * Files are not trusted: everything is checked against their size. Not thread-safe.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Elf;

struct elf {
	struct Elf *file;
	const char *interp;  /* the program that loads it; NULL: it is static */
	const char *runpath; /* NULL: none */
	const char *strings; /* its dynamic strings, terminated by 0; NULL: none */
	size_t nstrings;
	void *dynamic; /* libelf's data of that segment; NULL: none */
	char path[PATH_MAX];
};

/*
 * Map @path. Returns 0, -errno of open(), -ENOMEM, or -ENOEXEC if it is not an ELF file of this
 * machine (64 bit, its byte order and processor).
 */
int elf_open(const char *path, struct elf *ret_elf);

/* Accepts a closed @elf. */
void elf_close(struct elf *elf);

/* The @index-th library that @elf needs, NULL after the last. */
const char *elf_find_needed(const struct elf *elf, unsigned int index);

/* Is @text anywhere in the file? */
bool elf_mentions(const struct elf *elf, const char *text);

/*
 * The file for library @name, searched as ld.so(8) does, but in the usual folders instead of its
 * cache. Returns 0 or -ENOENT.
 */
int elf_find(const struct elf *elf, const char *name, char path[PATH_MAX]);

/*
 * What the dynamic linker will do with a file: the only user of libelf
 *
 * 	ELF header -> program headers -> PT_INTERP   the loader's path
 * 	                              -> PT_DYNAMIC  DT_NEEDED, DT_RUNPATH as
 * 	                                             offsets into DT_STRTAB
 *
 * DT_STRTAB is an address; the PT_LOAD that contains it gives the offset in the file. Sections may
 * be stripped, and the dynamic linker does not use them.
 */
#include "cli/doctor/elf.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/library.h"
#include "core/wire/regular.h"

/* clang-format off */
#define ELF_LIB(X) \
	X(elf_begin) \
	X(elf_cntl) \
	X(elf_end) \
	X(elf_getdata_rawchunk) \
	X(elf_kind) \
	X(elf_rawfile) \
	X(elf_version) \
	X(gelf_getdyn) \
	X(gelf_getehdr)
/* clang-format on */

static LIBRARY(ELF_LIB) lib;

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#define MULTIARCH "aarch64-linux-gnu"
#else
#error "name this processor's ELF machine here"
#endif

static int map_file(const char *path, struct elf *elf)
{
	static const char *const names[] = { ELF_LIB(LIBRARY_NAME) NULL };
	uint64_t size;
	int fd, err = 0;

	if (library_load("libelf.so.1", names, lib.functions))
		return -ENOPKG;
	fd = regular_open(path, REGULAR_BINARY, &size);
	if (fd < 0)
		return fd == -EINVAL || fd == -EFBIG ? -ENOEXEC : fd;
	errno = 0;
	lib.elf_version(EV_CURRENT);
	elf->file = lib.elf_begin(fd, ELF_C_READ_MMAP, NULL);
	/* its descriptor is no longer needed */
	if (!elf->file || lib.elf_cntl(elf->file, ELF_C_FDREAD))
		err = errno == ENOMEM ? -ENOMEM : -ENOEXEC;
	close(fd);
	return err;
}

static bool is_for_machine(Elf *file)
{
	const uint16_t one = 1;
	const int order = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	GElf_Ehdr h;

	return lib.elf_kind(file) == ELF_K_ELF && lib.gelf_getehdr(file, &h) &&
	       h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == order &&
	       h.e_machine == MACHINE && (h.e_type == ET_EXEC || h.e_type == ET_DYN);
}

/* Translate a part of the file by libelf; NULL if the file is too short. */
static Elf_Data *read_part(const struct elf *elf, uint64_t offset, uint64_t size, Elf_Type type)
{
	return size ? lib.elf_getdata_rawchunk(elf->file, (int64_t)offset, size, type) : NULL;
}

/* Read a text, which ends within @size bytes. */
static const char *read_text(const struct elf *elf, uint64_t offset, uint64_t size)
{
	const Elf_Data *data = read_part(elf, offset, size, ELF_T_BYTE);
	const char *text = data ? data->d_buf : NULL;

	return text && !text[size - 1] ? text : NULL;
}

/* The program headers; if the file is truncated, the ones that it still has. */
static const GElf_Phdr *read_headers(const struct elf *elf, size_t *ret_n)
{
	const Elf_Data *data;
	GElf_Ehdr h;
	size_t size;

	lib.elf_rawfile(elf->file, &size);
	if (!lib.gelf_getehdr(elf->file, &h) || h.e_phentsize != sizeof(Elf64_Phdr) ||
	    h.e_phoff > size)
		return NULL;
	size = (size - h.e_phoff) / sizeof(Elf64_Phdr);
	*ret_n = h.e_phnum < size ? h.e_phnum : size;
	data = read_part(elf, h.e_phoff, *ret_n * sizeof(Elf64_Phdr), ELF_T_PHDR);
	return data ? data->d_buf : NULL;
}

/* The value of the @index-th entry with @tag; false if there is none. */
static bool find_dynamic(const struct elf *elf, int64_t tag, unsigned int index, uint64_t *value)
{
	GElf_Dyn d;

	for (int i = 0; lib.gelf_getdyn(elf->dynamic, i, &d) && d.d_tag != DT_NULL; i++)
		if (d.d_tag == tag && !index--) {
			*value = d.d_un.d_val;
			return true;
		}
	return false;
}

static void find_strings(struct elf *elf, const GElf_Phdr *headers, size_t n)
{
	uint64_t address, size;

	if (!find_dynamic(elf, DT_STRTAB, 0, &address) || !find_dynamic(elf, DT_STRSZ, 0, &size))
		return;
	for (const GElf_Phdr *p = headers; p < headers + n; p++) {
		if (p->p_type != PT_LOAD || address < p->p_vaddr ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		elf->strings = read_text(elf, p->p_offset + (address - p->p_vaddr), size);
		elf->nstrings = size;
		return;
	}
}

static const char *dynamic_string(const struct elf *elf, int64_t tag, unsigned int index)
{
	uint64_t offset;

	return elf->strings && find_dynamic(elf, tag, index, &offset) && offset < elf->nstrings
		       ? elf->strings + offset
		       : NULL;
}

static void read_segments(struct elf *elf)
{
	size_t n = 0;
	const GElf_Phdr *headers = read_headers(elf, &n);

	for (const GElf_Phdr *p = headers; headers && p < headers + n; p++) {
		const char *loader =
			p->p_type == PT_INTERP ? read_text(elf, p->p_offset, p->p_filesz) : NULL;
		Elf_Data *dynamic = p->p_type == PT_DYNAMIC
					    ? read_part(elf, p->p_offset, p->p_filesz, ELF_T_DYN)
					    : NULL;

		elf->interp = loader ? loader : elf->interp;
		elf->dynamic = dynamic ? dynamic : elf->dynamic;
	}
	if (headers)
		find_strings(elf, headers, n);
}

int elf_open(const char *path, struct elf *ret_elf)
{
	struct elf elf = { 0 };
	int err = map_file(path, &elf);

	if (!err && !is_for_machine(elf.file))
		err = -ENOEXEC;
	if (err) {
		elf_close(&elf);
		return err;
	}
	snprintf(elf.path, sizeof(elf.path), "%s", path);
	read_segments(&elf);
	*ret_elf = elf;
	ret_elf->runpath = dynamic_string(ret_elf, DT_RUNPATH, 0);
	if (!ret_elf->runpath)
		ret_elf->runpath = dynamic_string(ret_elf, DT_RPATH, 0);
	return 0;
}

void elf_close(struct elf *elf)
{
	if (elf->file)
		lib.elf_end(elf->file);
	elf->file = NULL;
}

const char *elf_find_needed(const struct elf *elf, unsigned int index)
{
	return dynamic_string(elf, DT_NEEDED, index);
}

bool elf_mentions(const struct elf *elf, const char *text)
{
	size_t size = 0;
	const char *file = lib.elf_rawfile(elf->file, &size);

	return file && memmem(file, size, text, strlen(text));
}

/* Is @name in one of the @folders, separated by colons? $ORIGIN is the folder of @elf. */
static bool is_in_folders(const struct elf *elf, const char *folders, const char *name,
			  char path[PATH_MAX])
{
	for (const char *f = folders, *end; f && *f; f = end) {
		int n = (int)strcspn(f, ":"), origin = 0;
		const char *slash = strrchr(elf->path, '/');

		end = f[n] ? f + n + 1 : NULL;
		if (!strncmp(f, "$ORIGIN", 7))
			origin = 7;
		else if (!strncmp(f, "${ORIGIN}", 9))
			origin = 9;
		snprintf(path, PATH_MAX, "%.*s%.*s/%s",
			 origin && slash ? (int)(slash - elf->path) : 0, elf->path,
			 n - origin < 0 ? 0 : n - origin, f + origin, name);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

int elf_find(const struct elf *elf, const char *name, char path[PATH_MAX])
{
	static const char usual[] = "/usr/local/lib:/lib/" MULTIARCH ":/usr/lib/" MULTIARCH
				    ":/lib64:/usr/lib64:/lib:/usr/lib";

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return access(path, R_OK) ? -ENOENT : 0;
	}
	return is_in_folders(elf, elf->runpath, name, path) ||
			       is_in_folders(elf, getenv("LD_LIBRARY_PATH"), name, path) ||
			       is_in_folders(elf, usual, name, path)
		       ? 0
		       : -ENOENT;
}

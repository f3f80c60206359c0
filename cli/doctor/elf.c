/*
 * What the dynamic linker will do with a file
 *
 *	ELF header -> program headers -> PT_INTERP   the loader's path
 *	                              -> PT_DYNAMIC  DT_NEEDED, DT_RUNPATH as
 *	                                             offsets into DT_STRTAB
 *
 * DT_STRTAB is an address; the PT_LOAD that covers it says where that is in
 * the file.
 */
#include "cli/doctor/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/regular.h"

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
	uint64_t size;
	int fd = regular_open(path, REGULAR_BINARY, &size), err = 0;
	void *data;

	if (fd < 0)
		return fd == -EINVAL || fd == -EFBIG ? -ENOEXEC : fd;
	if (size < sizeof(Elf64_Ehdr)) {
		close(fd);
		return -ENOEXEC;
	}
	data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	elf->data = data;
	elf->size = size;
	return 0;
}

static bool of_this_machine(const Elf64_Ehdr *h)
{
	const uint16_t one = 1;
	const int order = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;

	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == order && h->e_machine == MACHINE &&
	       (h->e_type == ET_EXEC || h->e_type == ET_DYN);
}

/* @bytes of the file from @offset, NULL if it is shorter. */
static const void *bytes_at(const struct elf *elf, uint64_t offset, uint64_t bytes)
{
	return offset <= elf->size && bytes <= elf->size - offset ? elf->data + offset : NULL;
}

static const Elf64_Phdr *program_header(const struct elf *elf, unsigned int i)
{
	const Elf64_Ehdr *h = (const void *)elf->data;
	uint64_t offset = h->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);

	if (i >= h->e_phnum || h->e_phentsize != sizeof(Elf64_Phdr) || offset % 8)
		return NULL;
	return bytes_at(elf, offset, sizeof(Elf64_Phdr));
}

/* Value of the @index-th entry with @tag; false if there is none. */
static bool find_dynamic(const struct elf *elf, int64_t tag, unsigned int index, uint64_t *value)
{
	const Elf64_Dyn *d = elf->dynamic;

	for (size_t i = 0; i < elf->ndynamic && d[i].d_tag != DT_NULL; i++)
		if (d[i].d_tag == tag && !index--) {
			*value = d[i].d_un.d_val;
			return true;
		}
	return false;
}

static void find_strings(struct elf *elf)
{
	uint64_t address, bytes;
	const Elf64_Phdr *p;

	if (!find_dynamic(elf, DT_STRTAB, 0, &address) || !find_dynamic(elf, DT_STRSZ, 0, &bytes))
		return;
	for (unsigned int i = 0; (p = program_header(elf, i)); i++) {
		const char *s;

		if (p->p_type != PT_LOAD || address < p->p_vaddr ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		s = bytes_at(elf, p->p_offset + (address - p->p_vaddr), bytes);
		if (s && bytes && !s[bytes - 1]) {
			elf->strings = s;
			elf->nstrings = bytes;
		}
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

static void read_headers(struct elf *elf)
{
	const Elf64_Phdr *p;

	for (unsigned int i = 0; (p = program_header(elf, i)); i++) {
		const void *body = bytes_at(elf, p->p_offset, p->p_filesz);

		if (!body || !p->p_filesz)
			continue;
		if (p->p_type == PT_INTERP && !((const char *)body)[p->p_filesz - 1])
			elf->interp = body;
		if (p->p_type == PT_DYNAMIC && !(p->p_offset % 8)) {
			elf->dynamic = body;
			elf->ndynamic = p->p_filesz / sizeof(Elf64_Dyn);
		}
	}
}

int elf_open(const char *path, struct elf *ret_elf)
{
	struct elf elf = { 0 };
	int err = map_file(path, &elf);

	if (err)
		return err;
	if (!of_this_machine((const void *)elf.data)) {
		elf_close(&elf);
		return -ENOEXEC;
	}
	snprintf(elf.path, sizeof(elf.path), "%s", path);
	read_headers(&elf);
	find_strings(&elf);
	*ret_elf = elf;
	ret_elf->runpath = dynamic_string(ret_elf, DT_RUNPATH, 0);
	if (!ret_elf->runpath)
		ret_elf->runpath = dynamic_string(ret_elf, DT_RPATH, 0);
	return 0;
}

void elf_close(struct elf *elf)
{
	if (elf->data)
		munmap((void *)elf->data, elf->size);
	elf->data = NULL;
}

const char *elf_needed(const struct elf *elf, unsigned int index)
{
	return dynamic_string(elf, DT_NEEDED, index);
}

bool elf_mentions(const struct elf *elf, const char *text)
{
	return memmem(elf->data, elf->size, text, strlen(text));
}

/* Is @name in one of the @folders, with colons between them? $ORIGIN is that of @elf. */
static bool in_folders(const struct elf *elf, const char *folders, const char *name,
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
	return in_folders(elf, elf->runpath, name, path) ||
			       in_folders(elf, getenv("LD_LIBRARY_PATH"), name, path) ||
			       in_folders(elf, usual, name, path)
		       ? 0
		       : -ENOENT;
}

/*
 * Reads the table of dynamic symbols of an ELF file
 *
 *	section headers --> SHT_DYNSYM --> its strings
 *	program headers --> code, searched for the return from a signal handler:
 *			    mov $15, %rax; syscall
 *
 * Each offset is checked against the size of the file.
 */
#include "cli/attach/exported.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct file {
	const uint8_t *at;
	uint64_t size;
	const Elf64_Ehdr *head;
};

/* @n bytes at @offset; NULL: they are not in the file. */
static const void *file_part(const struct file *file, uint64_t offset, uint64_t n)
{
	return offset <= file->size && n <= file->size - offset ? file->at + offset : NULL;
}

static int check_head(struct file *file)
{
	const Elf64_Ehdr *head = file_part(file, 0, sizeof(*head));

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64 ||
	    head->e_phentsize != sizeof(Elf64_Phdr) || head->e_shentsize != sizeof(Elf64_Shdr))
		return -ENOEXEC;
	file->head = head;
	return 0;
}

static void find_names(const struct file *file, const Elf64_Shdr *table, const Elf64_Shdr *strings,
		       struct exported_function *wanted, size_t n)
{
	const Elf64_Sym *symbols = file_part(file, table->sh_offset, table->sh_size);
	const char *names = file_part(file, strings->sh_offset, strings->sh_size);

	if (!symbols || !names || !strings->sh_size || names[strings->sh_size - 1])
		return;
	for (uint64_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= strings->sh_size)
			continue;
		for (size_t k = 0; k < n; k++)
			if (!strcmp(names + symbols[i].st_name, wanted[k].name))
				wanted[k].value = symbols[i].st_value;
	}
}

static uint64_t find_restorer(const struct file *file)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	const Elf64_Phdr *all =
		file_part(file, file->head->e_phoff, file->head->e_phnum * sizeof(*all));
	const uint8_t *text, *found;

	for (int i = 0; all && i < file->head->e_phnum; i++) {
		if (all[i].p_type != PT_LOAD || !(all[i].p_flags & PF_X))
			continue;
		text = file_part(file, all[i].p_offset, all[i].p_filesz);
		found = text ? memmem(text, all[i].p_filesz, code, sizeof(code)) : NULL;
		if (found)
			return all[i].p_vaddr + (uint64_t)(found - text);
	}
	return 0;
}

int exported_find(int fd, struct exported_function *wanted, size_t n, uint64_t *ret_restorer)
{
	const Elf64_Shdr *sections;
	struct file file = { 0 };
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	file.size = (uint64_t)st.st_size;
	file.at = mmap(NULL, file.size ?: 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file.at == MAP_FAILED)
		return -errno;
	err = check_head(&file);
	sections =
		err ? NULL
		    : file_part(&file, file.head->e_shoff, file.head->e_shnum * sizeof(*sections));
	for (int i = 0; sections && i < file.head->e_shnum; i++)
		if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < file.head->e_shnum)
			find_names(&file, &sections[i], &sections[sections[i].sh_link], wanted, n);
	if (!err && ret_restorer)
		*ret_restorer = find_restorer(&file);
	munmap((void *)(uintptr_t)file.at, file.size ?: 1);
	return err;
}

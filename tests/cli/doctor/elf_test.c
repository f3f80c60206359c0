/*
 * Reading ELF files, complete and damaged
 *
 * 	header | three program headers | dynamic section | strings | the loader's path
 *
 * all of which one segment maps at BASE.
 */
#include "cli/doctor/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

enum { BASE = 0x10000, SMALL = 8, LOADER = 24 };

enum { INTERP, LOAD, DYNAMIC, SEGMENTS };

static const char strings[] = "\0libone.so\0libtwo.so\0$ORIGIN/lib";

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS];
	Elf64_Dyn dynamic[6];
	char strings[sizeof(strings) + SMALL - sizeof(strings) % SMALL];
	char loader[LOADER];
};

static struct image image;
static char path[32];

#define AT(member) offsetof(struct image, member)

static void make_image(void)
{
	Elf64_Dyn dynamic[] = {
		{ DT_NEEDED, { 1 } },
		{ DT_NEEDED, { 11 } },
		{ DT_RUNPATH, { 21 } },
		{ DT_STRTAB, { BASE + AT(strings) } },
		{ DT_STRSZ, { sizeof(strings) } },
		{ DT_NULL, { 0 } },
	};
	Elf64_Phdr segments[SEGMENTS] = {
		[INTERP] = { .p_type = PT_INTERP, .p_offset = AT(loader), .p_filesz = LOADER },
		[LOAD] = { .p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof(image) },
		[DYNAMIC] = { .p_type = PT_DYNAMIC,
			      .p_offset = AT(dynamic),
			      .p_filesz = sizeof(dynamic) },
	};

	image = (struct image){ .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
						       EV_CURRENT },
					  .e_type = ET_DYN,
					  .e_version = EV_CURRENT,
					  .e_phoff = AT(segments),
					  .e_ehsize = sizeof(Elf64_Ehdr),
					  .e_phentsize = sizeof(Elf64_Phdr),
					  .e_phnum = SEGMENTS },
				.loader = "/lib64/ld.so" };
#ifdef __x86_64__
	image.head.e_machine = EM_X86_64;
#else
	image.head.e_machine = EM_AARCH64;
#endif
	memcpy(image.segments, segments, sizeof(segments));
	memcpy(image.dynamic, dynamic, sizeof(dynamic));
	memcpy(image.strings, strings, sizeof(strings));
}

/* Write the first @n bytes of the file. */
static void put_image(size_t n)
{
	FILE *file = fopen(path, "wbe");

	assert_non_null(file);
	assert_int_equal(fwrite(&image, 1, n, file), n);
	fclose(file);
}

static int open_image(struct elf *ret_elf)
{
	put_image(sizeof(image));
	return elf_open(path, ret_elf);
}

static int make_path(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/elf_test-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 || close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

GROUP(make_path, remove_path);

static unsigned int count_needed(const struct elf *elf)
{
	unsigned int n = 0;

	while (elf_find_needed(elf, n))
		n++;
	return n;
}

TEST(all_of_a_file_is_read)
{
	struct elf elf;

	make_image();
	assert_int_equal(open_image(&elf), 0);
	assert_string_equal(elf.interp, "/lib64/ld.so");
	assert_string_equal(elf.runpath, "$ORIGIN/lib");
	assert_string_equal(elf_find_needed(&elf, 0), "libone.so");
	assert_string_equal(elf_find_needed(&elf, 1), "libtwo.so");
	assert_null(elf_find_needed(&elf, 2));
	assert_true(elf_mentions(&elf, "libtwo"));
	assert_true(elf_mentions(&elf, "/lib64/ld"));
	assert_false(elf_mentions(&elf, "libthree"));
	elf_close(&elf);
	elf_close(&elf);
}

TEST(an_older_path_is_taken_where_there_is_no_newer)
{
	struct elf elf;

	make_image();
	image.dynamic[2].d_tag = DT_RPATH;
	assert_int_equal(open_image(&elf), 0);
	assert_string_equal(elf.runpath, "$ORIGIN/lib");
	elf_close(&elf);
}

struct change {
	const char *name;
	size_t at, size; /* of the change */
	uint64_t value;
	int err;
	bool loader, path; /* are these known? */
	unsigned int needed;
};

#define IS(member, value) AT(member), sizeof(image.member), (value)

/* clang-format off */
static const struct change changes[] = {
	{ "another magic number", IS(head.e_ident[0], 0), -ENOEXEC, 0, 0, 0 },
	{ "32 bits", IS(head.e_ident[EI_CLASS], ELFCLASS32), -ENOEXEC, 0, 0, 0 },
	{ "no class", IS(head.e_ident[EI_CLASS], 9), -ENOEXEC, 0, 0, 0 },
	{ "another byte order", IS(head.e_ident[EI_DATA], ELFDATA2MSB), -ENOEXEC, 0, 0, 0 },
	{ "no byte order", IS(head.e_ident[EI_DATA], 9), -ENOEXEC, 0, 0, 0 },
	{ "another version of the format", IS(head.e_ident[EI_VERSION], 2), -ENOEXEC, 0, 0, 0 },
	{ "another processor", IS(head.e_machine, EM_S390), -ENOEXEC, 0, 0, 0 },
	{ "an object file", IS(head.e_type, ET_REL), -ENOEXEC, 0, 0, 0 },
	{ "a core file", IS(head.e_type, ET_CORE), -ENOEXEC, 0, 0, 0 },
	{ "a program at its place", IS(head.e_type, ET_EXEC), 0, 1, 1, 2 },
	{ "no segments", IS(head.e_phnum, 0), 0, 0, 0, 0 },
	{ "one segment", IS(head.e_phnum, 1), 0, 1, 0, 0 },
	{ "more segments than the file has", IS(head.e_phnum, 1000), 0, 1, 1, 2 },
	{ "segments behind the end", IS(head.e_phoff, 1 << 20), 0, 0, 0, 0 },
	{ "segments beyond all", IS(head.e_phoff, UINT64_MAX - 7), 0, 0, 0, 0 },
	{ "headers of another size", IS(head.e_phentsize, 32), 0, 0, 0, 0 },
	{ "no loader", IS(segments[INTERP].p_type, PT_NOTE), 0, 0, 1, 2 },
	{ "a loader without an end", IS(segments[INTERP].p_filesz, 4), 0, 0, 1, 2 },
	{ "an empty loader", IS(segments[INTERP].p_filesz, 0), 0, 0, 1, 2 },
	{ "a loader behind the end", IS(segments[INTERP].p_offset, sizeof(image)), 0, 0, 1, 2 },
	{ "a loader beyond all", IS(segments[INTERP].p_offset, UINT64_MAX), 0, 0, 1, 2 },
	{ "a loader that is too long", IS(segments[INTERP].p_filesz, UINT64_MAX), 0, 0, 1, 2 },
	{ "no dynamic section", IS(segments[DYNAMIC].p_type, PT_NOTE), 0, 1, 0, 0 },
	{ "a dynamic section behind the end", IS(segments[DYNAMIC].p_offset, sizeof(image)),
	  0, 1, 0, 0 },
	{ "a dynamic section that is too long", IS(segments[DYNAMIC].p_filesz, 1 << 20),
	  0, 1, 0, 0 },
	{ "a dynamic section cut after the first", IS(segments[DYNAMIC].p_filesz, 24), 0, 1, 0, 0 },
	{ "a dynamic section without an end", IS(dynamic[5].d_tag, DT_DEBUG), 0, 1, 1, 2 },
	{ "an end before all", IS(dynamic[0].d_tag, DT_NULL), 0, 1, 0, 0 },
	{ "no path", IS(dynamic[2].d_tag, DT_DEBUG), 0, 1, 0, 2 },
	{ "no strings", IS(dynamic[3].d_tag, DT_DEBUG), 0, 1, 0, 0 },
	{ "strings of no size", IS(dynamic[4].d_tag, DT_DEBUG), 0, 1, 0, 0 },
	{ "empty strings", IS(dynamic[4].d_un.d_val, 0), 0, 1, 0, 0 },
	{ "strings without an end", IS(dynamic[4].d_un.d_val, 5), 0, 1, 0, 0 },
	{ "strings that are too long", IS(dynamic[4].d_un.d_val, 1 << 20), 0, 1, 0, 0 },
	{ "strings that are not loaded", IS(dynamic[3].d_un.d_val, BASE - 1), 0, 1, 0, 0 },
	{ "strings behind what is loaded", IS(segments[LOAD].p_filesz, AT(strings)), 0, 1, 0, 0 },
	{ "strings in a segment behind the end", IS(segments[LOAD].p_offset, 1 << 20), 0, 1, 0, 0 },
	{ "a first name behind the strings", IS(dynamic[0].d_un.d_val, sizeof(strings)),
	  0, 1, 1, 0 },
	{ "a second name behind the strings", IS(dynamic[1].d_un.d_val, 1 << 20), 0, 1, 1, 1 },
	{ "a path behind the strings", IS(dynamic[2].d_un.d_val, UINT64_MAX), 0, 1, 0, 2 },
};
/* clang-format on */

static void read_what_is_left(void **state)
{
	const struct change *change = *state;
	struct elf elf = { .interp = "untouched" };

	make_image();
	memcpy((char *)&image + change->at, &change->value, change->size);
	assert_int_equal(open_image(&elf), change->err);
	if (change->err) {
		assert_string_equal(elf.interp, "untouched");
		return;
	}
	assert_int_equal(elf.interp != NULL, change->loader);
	assert_int_equal(elf.runpath != NULL, change->path);
	assert_int_equal(count_needed(&elf), change->needed);
	elf_close(&elf);
}
TEST_ROWS(changes, read_what_is_left);

TEST(a_file_may_end_anywhere)
{
	make_image();
	for (size_t n = 0; n < sizeof(image); n++) {
		struct elf elf;
		int err;

		put_image(n);
		err = elf_open(path, &elf);
		assert_int_equal(err, n < sizeof(image.head) ? -ENOEXEC : 0);
		if (err)
			continue;
		assert_null(elf.interp); /* it is the last part of it */
		assert_int_equal(count_needed(&elf), n < AT(strings) + sizeof(strings) ? 0 : 2);
		elf_close(&elf);
	}
}

TEST(only_files_are_opened)
{
	char name[64];
	struct elf elf;

	assert_int_equal(elf_open("/no/such/file", &elf), -ENOENT);
	assert_int_equal(elf_open("/", &elf), -ENOEXEC);
	assert_int_equal(elf_open("/dev/zero", &elf), -ENOEXEC);
	snprintf(name, sizeof(name), "%s.fifo", path);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(elf_open(name, &elf), -ENOEXEC);
	unlink(name);
}

TEST(an_archive_is_none)
{
	struct elf elf;
	FILE *file = fopen(path, "wbe");

	assert_non_null(file);
	fprintf(file, "!<arch>\n%-16s%-12d%-6d%-6d%-8o%-10d`\n%080d", "member/", 0, 0, 0, 0644, 80,
		0);
	fclose(file);
	assert_int_equal(elf_open(path, &elf), -ENOEXEC);
}

TEST(this_program_is_read)
{
	struct elf elf;
	char found[PATH_MAX];
	bool has_libc = false;
	const char *name;

	assert_int_equal(elf_open("/proc/self/exe", &elf), 0);
	assert_non_null(strstr(elf.interp, "ld-linux"));
	for (unsigned int i = 0; (name = elf_find_needed(&elf, i)); i++)
		has_libc = has_libc || !strcmp(name, "libc.so.6");
	assert_true(has_libc);
	assert_int_equal(elf_find(&elf, "libc.so.6", found), 0);
	assert_int_equal(access(found, R_OK), 0);
	assert_int_equal(elf_find(&elf, "libnosuch.so.6", found), -ENOENT);
	elf_close(&elf);
}

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/procfs.h>
#include <sys/user.h>
#include <unistd.h>

#include "cli/attach/core_file.h"
#include "cli/attach/stop.h"
#include "core/wire/log.h"
#include "tests/test.h"

#define ADDRESS 0x7f0000001000ull

/* A core with two threads, a file and a page of memory. */
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr program[2];
	struct {
		Elf64_Nhdr note;
		char name[8];
		struct elf_prstatus status;
	} __attribute__((packed)) thread[2];
	struct {
		Elf64_Nhdr note;
		char name[8];
		struct elf_prpsinfo info;
	} __attribute__((packed)) name;
	struct {
		Elf64_Nhdr note;
		char name[8];
		uint64_t head[2], entry[3];
		char path[8];
	} __attribute__((packed)) file;
	uint8_t memory[4096];
} image;

static char path[] = "/tmp/core_file_test-XXXXXX";
static struct core_file core;
static struct target target;
static struct stop *stops;

static Elf64_Nhdr note_of(uint32_t type, size_t bytes)
{
	return (Elf64_Nhdr){ 5, (Elf64_Word)bytes, type };
}

static void write_image(size_t bytes)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &image, bytes), (ssize_t)bytes);
	close(fd);
}

static int set_up(void **state)
{
	const size_t notes = offsetof(typeof(image), thread);

	(void)state;
	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_type = ET_CORE;
#if defined(__x86_64__)
	image.header.e_machine = EM_X86_64;
#else
	image.header.e_machine = EM_AARCH64;
#endif
	image.header.e_phoff = offsetof(typeof(image), program);
	image.header.e_phnum = 2;
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.program[0] = (Elf64_Phdr){ .p_type = PT_NOTE,
					 .p_offset = notes,
					 .p_filesz = offsetof(typeof(image), memory) - notes };
	image.program[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_W,
					 .p_offset = offsetof(typeof(image), memory),
					 .p_vaddr = ADDRESS,
					 .p_filesz = 4096,
					 .p_memsz = 8192 };
	for (int i = 0; i < 2; i++) {
		image.thread[i].note = note_of(NT_PRSTATUS, sizeof(struct elf_prstatus));
		strcpy(image.thread[i].name, "CORE");
		image.thread[i].status.pr_pid = 40 + i;
		image.thread[i].status.pr_cursig = i ? 0 : 11;
	}
	image.name.note = note_of(NT_PRPSINFO, sizeof(struct elf_prpsinfo));
	strcpy(image.name.name, "CORE");
	image.name.info.pr_pid = 40;
	strcpy(image.name.info.pr_fname, "server");
	image.file.note = note_of(NT_FILE, 2 * 8 + 3 * 8 + 8);
	strcpy(image.file.name, "CORE");
	image.file.head[0] = 1;
	image.file.head[1] = 4096;
	memcpy(image.file.entry, (uint64_t[]){ ADDRESS, ADDRESS + 4096, 3 }, 24);
	strcpy(image.file.path, "/lib/a");
	memset(image.memory, 0x5a, sizeof(image.memory));
	write_image(sizeof(image));
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	stop_free(stops, target.nthreads);
	stops = NULL;
	target_fini(&target);
	core_file_close(&core);
	return 0;
}

static int make_file(void **state)
{
	(void)state;
	core.fd = -1;
	log_silence(true);
	return close(mkstemp(path));
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}
GROUP(make_file, remove_file);
FIXTURE(set_up, close_all);

static int open_image(void)
{
	return core_file_open(path, &core, &target, &stops);
}

TEST(threads_name_and_files)
{
	assert_int_equal(open_image(), 0);
	assert_int_equal(target.nthreads, 2);
	assert_int_equal(target.threads[1].tid, 41);
	assert_true(stops[1].tid == 41 && stops[1].nregisters);
	assert_int_equal(core.signal, 11);
	assert_string_equal(target.name, "server");
	assert_int_equal(target.pid, 40);
	assert_int_equal(target.nmaps, 1);
	assert_string_equal(target.maps[0].path, "/lib/a");
	assert_int_equal(target.maps[0].offset, 3 * 4096);
}

TEST(memory_ends_where_the_file_has_no_more)
{
	struct memory memory;
	uint8_t bytes[16];

	assert_int_equal(open_image(), 0);
	memory = core_file_memory(&core);
	assert_int_equal(memory.nranges, 1);
	assert_true(memory.ranges[0].writable);
	assert_int_equal(memory.read(&memory, ADDRESS + 4090, bytes, 16), 6);
	assert_int_equal(bytes[5], 0x5a);
	assert_int_equal(memory.read(&memory, ADDRESS + 4096, bytes, 16), 0);
	assert_int_equal(memory.read(&memory, ADDRESS - 1, bytes, 16), 0);
	assert_int_equal(memory.read(&memory, UINT64_MAX, bytes, 16), 0);
	assert_int_equal(core.missing, 0);
}

TEST(missing_bytes_are_counted)
{
	write_image(sizeof(image) - 1000);
	assert_int_equal(open_image(), 0);
	assert_int_equal(core.missing, 1000);
}

TEST(other_files_are_refused)
{
	image.header.e_type = ET_EXEC;
	write_image(sizeof(image));
	assert_int_equal(open_image(), -EINVAL);
	image.header.e_type = ET_CORE;
	image.header.e_machine = EM_68K;
	write_image(sizeof(image));
	assert_int_equal(open_image(), -EINVAL);
	write_image(0);
	assert_int_equal(open_image(), -EINVAL);
	assert_int_equal(core_file_open("no/such/file", &core, &target, &stops), -ENOENT);
}

/* Whatever a word is, nothing outside of the core is read (with SAN=address), and it ends. */
TEST(any_word_may_be_anything)
{
	static const uint32_t values[] = { 0, 1, 0x7fffffff, 0xffffffff, 0x10000 };
	const size_t words = offsetof(typeof(image), memory) / 4;
	struct memory memory;
	uint8_t bytes[64];

	for (size_t i = 0; i < words; i++) {
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			uint32_t kept;

			memcpy(&kept, (char *)&image + i * 4, 4);
			memcpy((char *)&image + i * 4, &values[k], 4);
			write_image(sizeof(image));
			memcpy((char *)&image + i * 4, &kept, 4);
			if (open_image())
				continue;
			memory = core_file_memory(&core);
			for (size_t r = 0; r < memory.nranges; r++)
				memory.read(&memory, memory.ranges[r].start, bytes, sizeof(bytes));
			close_all(NULL);
		}
	}
}

TEST(close_accepts_what_is_closed)
{
	struct core_file closed = { .fd = -1 };

	core_file_close(&closed);
}

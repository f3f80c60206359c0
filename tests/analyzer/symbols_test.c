/* analyzer/symbols.c over frames of this very program. */
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/symbols.h"

static char path[PATH_MAX], build_id[129];
static uint64_t base;

static void take_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * segment)
{
	const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
	const char *end = at + segment->p_memsz;

	while (at + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *note = (const void *)at;
		const char *name = at + sizeof(*note);
		const char *desc = name + ((note->n_namesz + 3) & ~3u);

		if (note->n_type == NT_GNU_BUILD_ID && !strcmp(name, "GNU"))
			for (unsigned int i = 0; i < note->n_descsz && i < 64; i++)
				sprintf(build_id + 2 * i, "%02x", (unsigned char)desc[i]);
		at = desc + ((note->n_descsz + 3) & ~3u);
	}
}

/* The first object is the program itself. */
static int take_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			take_build_id(info, &info->dlpi_phdr[i]);
	return 1;
}

__attribute__((noinline)) static uint64_t where_am_i(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* A return address in here. */
static struct frame a_frame(void)
{
	struct frame frame = { .ip = where_am_i() };

	frame.module = path;
	frame.build_id = build_id;
	frame.offset = frame.ip - base;
	return frame;
}

static const char *text_of(struct symbols *symbols, const struct frame *frame, char *text,
			   size_t size)
{
	struct symbol symbol;

	symbols_find(symbols, frame, &symbol, 1);
	return symbol_text(&symbol, text, size);
}

static void a_static_function_has_its_name_and_line(void **state)
{
	struct symbols *symbols;
	char text[256];
	struct frame frame = a_frame();

	(void)state;
	if (!build_id[0])
		skip();
	assert_int_equal(symbols_open(&symbols), 0);
	text_of(symbols, &frame, text, sizeof(text));
	assert_non_null(strstr(text, "a_frame"));
	assert_non_null(strstr(text, "symbols_test.c:"));
	symbols_close(symbols);
}

static void another_build_gives_no_name(void **state)
{
	struct symbols *symbols;
	struct frame frame = a_frame();
	char text[256];

	(void)state;
	frame.build_id = "0123456789abcdef";
	assert_int_equal(symbols_open(&symbols), 0);
	text_of(symbols, &frame, text, sizeof(text));
	assert_int_equal(strncmp(text, "symbols_test+0x", 15), 0);
	assert_non_null(strstr(text, "(binary changed)"));
	symbols_close(symbols);
}

static void a_file_that_is_gone_gives_an_offset(void **state)
{
	struct frame frame = {
		.ip = 0x1234, .module = "/no/such/libfoo.so", .build_id = "ab", .offset = 0x1234
	};
	struct symbols *symbols;
	char text[256];

	(void)state;
	assert_int_equal(symbols_open(&symbols), 0);
	text_of(symbols, &frame, text, sizeof(text));
	assert_string_equal(text, "libfoo.so+0x1234 (file not found)");
	symbols_close(symbols);
}

static void no_module_gives_the_address(void **state)
{
	struct frame frame = { .ip = 0xabc };
	struct symbols *symbols;
	char text[256];

	(void)state;
	assert_int_equal(symbols_open(&symbols), 0);
	assert_string_equal(text_of(symbols, &frame, text, sizeof(text)), "0xabc");
	symbols_close(symbols);
}

static void close_accepts_null(void **state)
{
	(void)state;
	symbols_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_static_function_has_its_name_and_line),
		cmocka_unit_test(another_build_gives_no_name),
		cmocka_unit_test(a_file_that_is_gone_gives_an_offset),
		cmocka_unit_test(no_module_gives_the_address),
		cmocka_unit_test(close_accepts_null),
	};
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n > 0)
		path[n] = '\0';
	dl_iterate_phdr(take_program, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

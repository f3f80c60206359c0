/* shim/trace/base/object.c: what is read from the headers of an object file in memory. */
#include "shim/trace/base/object.h"

#include <string.h>

#include "tests/test.h"

enum { PAGE = 4096 };

/* An object file that nobody has loaded. */
struct file {
	uint8_t memory[8 * PAGE];
	ElfW(Dyn) dynamic[6];
	ElfW(Phdr) headers[6];
	struct dl_phdr_info info;
};

static struct file file;

static void set_segment(int n, uint32_t type, const void *at, size_t bytes)
{
	file.headers[n] = (ElfW(Phdr)){ .p_type = type,
					.p_vaddr = (uintptr_t)at - (uintptr_t)file.memory,
					.p_memsz = bytes };
}

/*
 * A note lies before the first loaded segment, and the dynamic section after the last one. The
 * higher of the two loaded segments is listed first.
 */
static void make_file(void)
{
	const uint8_t *m = file.memory;

	file.dynamic[0] = (ElfW(Dyn)){ .d_tag = DT_STRTAB, .d_un.d_ptr = PAGE };
	file.dynamic[1] = (ElfW(Dyn)){ .d_tag = DT_SYMTAB, .d_un.d_ptr = (uintptr_t)m + PAGE + 64 };
	file.dynamic[2] = (ElfW(Dyn)){ .d_tag = DT_PLTRELSZ, .d_un.d_val = 48 };
	file.dynamic[3] = (ElfW(Dyn)){ .d_tag = DT_RELASZ, .d_un.d_val = 24 };
	file.dynamic[4] = (ElfW(Dyn)){ .d_tag = DT_NULL };
	set_segment(0, PT_LOAD, m + 4 * PAGE, 3 * PAGE);
	set_segment(1, PT_LOAD, m + PAGE, 2 * PAGE + 8);
	set_segment(2, PT_NOTE, m, 16);
	set_segment(3, PT_GNU_RELRO, m + 5 * PAGE, PAGE);
	set_segment(4, PT_DYNAMIC, file.dynamic, sizeof(file.dynamic));
	file.info = (struct dl_phdr_info){ .dlpi_addr = (uintptr_t)m,
					   .dlpi_phdr = file.headers,
					   .dlpi_phnum = 5 };
}

TEST(an_object_spans_its_loaded_segments)
{
	struct object o;

	make_file();
	assert_true(object_read(&file.info, &o));
	assert_ptr_equal(o.base, file.memory);
	assert_ptr_equal(o.start, file.memory + PAGE);
	assert_ptr_equal(o.end, file.memory + 7 * PAGE);
	assert_ptr_equal(o.relro, file.memory + 5 * PAGE);
	assert_ptr_equal(o.relro_end, file.memory + 6 * PAGE);
	assert_ptr_equal(o.dynamic, file.dynamic);
}

/* The loader has turned the offsets of only some objects into addresses. */
TEST(pointers_are_relative_or_not)
{
	struct object o;

	make_file();
	assert_true(object_read(&file.info, &o));
	assert_ptr_equal(o.strings, file.memory + PAGE);
	assert_ptr_equal(o.symbols, file.memory + PAGE + 64);
	assert_int_equal(o.sizes[0], 24);
	assert_int_equal(o.sizes[1], 48);
}

TEST(an_object_without_symbols_is_none)
{
	struct object o;

	make_file();
	file.dynamic[1].d_tag = DT_DEBUG;
	assert_false(object_read(&file.info, &o));
	make_file();
	file.dynamic[0].d_tag = DT_DEBUG;
	assert_false(object_read(&file.info, &o));
	make_file();
	file.info.dlpi_phnum = 4;
	assert_false(object_read(&file.info, &o));
}

/* A slot is unbound while it holds an address of its own object. */
TEST(a_slot_with_an_address_of_its_object_is_unbound)
{
	struct object o;

	make_file();
	assert_true(object_read(&file.info, &o));
	assert_false(object_is_unbound(&o, file.memory + PAGE - 1));
	assert_true(object_is_unbound(&o, file.memory + PAGE));
	assert_true(object_is_unbound(&o, file.memory + 7 * PAGE - 1));
	assert_false(object_is_unbound(&o, file.memory + 7 * PAGE));
}

struct seen {
	int n, raw;
	char names[64];
};

static struct seen seen;

static void see_slot(const struct object *o, void **slot, const char *name, bool raw)
{
	assert_ptr_equal(o->base, file.memory);
	assert_non_null(slot);
	seen.n++;
	seen.raw += raw;
	strncat(seen.names, name, sizeof(seen.names) - strlen(seen.names) - 1);
	strncat(seen.names, raw ? "! " : " ", sizeof(seen.names) - strlen(seen.names) - 1);
}

enum { SYMBOLS = PAGE + 64, RELA = 2 * PAGE, JMPREL = 2 * PAGE + 512, SLOTS = 5 * PAGE };

static void add_symbol(int n, size_t name, unsigned int bind, uint16_t section)
{
	ElfW(Sym) *symbol = (ElfW(Sym) *)(file.memory + SYMBOLS) + n;

	*symbol = (ElfW(Sym)){ .st_name = (uint32_t)name,
			       .st_info = ELF64_ST_INFO(bind, STT_FUNC),
			       .st_shndx = section,
			       .st_value = 100u * (unsigned int)n };
}

/* Slot @slot of table @table's entry @n holds @value. */
static void add_slot(size_t table, int n, int slot, uint64_t symbol, unsigned int type,
		     const void *value)
{
	ElfW(Rela) *r = (ElfW(Rela) *)(file.memory + table) + n;

	*r = (ElfW(Rela)){ .r_offset = SLOTS + 8 * (uint64_t)slot,
			   .r_info = ELF64_R_INFO(symbol, type) };
	((const void **)(file.memory + SLOTS))[slot] = value;
}

/* The symbols: a (of another object), weak w, and own o. */
static void add_imports(void)
{
	memcpy(file.memory + PAGE, "\0a\0w\0o", 7);
	add_symbol(1, 1, STB_GLOBAL, SHN_UNDEF);
	add_symbol(2, 3, STB_WEAK, SHN_UNDEF);
	add_symbol(3, 5, STB_GLOBAL, 1);
}

static void see_slots(void)
{
	struct object o;

	seen = (struct seen){ 0 };
	assert_true(object_read(&file.info, &o));
	o.tables[0] = (const ElfW(Rela) *)(file.memory + RELA);
	o.tables[1] = (const ElfW(Rela) *)(file.memory + JMPREL);
	object_each_slot(&o, see_slot);
}

#ifdef __x86_64__
TEST(slots_of_other_objects_functions_are_visited)
{
	static int elsewhere;

	make_file();
	add_imports();
	file.dynamic[3].d_un.d_val = 5 * sizeof(ElfW(Rela));
	file.dynamic[2].d_un.d_val = 2 * sizeof(ElfW(Rela));
	add_slot(RELA, 0, 0, 1, R_X86_64_GLOB_DAT, &elsewhere);
	add_slot(RELA, 1, 1, 2, R_X86_64_GLOB_DAT, NULL); /* weak, and nobody has it */
	add_slot(RELA, 2, 2, 3, R_X86_64_64, &elsewhere); /* its own */
	add_slot(RELA, 3, 3, 1, R_X86_64_RELATIVE, &elsewhere);
	add_slot(RELA, 4, 4, 2, R_X86_64_64, &elsewhere);
	add_slot(JMPREL, 0, 5, 1, R_X86_64_JUMP_SLOT, &elsewhere);
	add_slot(JMPREL, 1, 6, 2, R_X86_64_JUMP_SLOT, &elsewhere);
	see_slots();
	assert_string_equal(seen.names, "a w a w ");
}

/* Until the loader relocates it, a lazily bound slot holds an offset, and others are NULL. */
TEST(slots_that_are_still_to_be_relocated_are_raw)
{
	make_file();
	add_imports();
	file.dynamic[3].d_un.d_val = 1 * sizeof(ElfW(Rela));
	file.dynamic[2].d_un.d_val = 3 * sizeof(ElfW(Rela));
	add_slot(RELA, 0, 0, 1, R_X86_64_GLOB_DAT, NULL);
	add_slot(JMPREL, 0, 1, 1, R_X86_64_JUMP_SLOT, (void *)(7 * PAGE - 1));
	add_slot(JMPREL, 1, 2, 1, R_X86_64_JUMP_SLOT, (void *)(7 * PAGE));
	add_slot(JMPREL, 2, 3, 1, R_X86_64_JUMP_SLOT, NULL);
	see_slots();
	assert_string_equal(seen.names, "a! a! a a! ");
	assert_int_equal(seen.raw, 3);
}

TEST(a_slot_with_an_addend_is_no_function)
{
	static int elsewhere;

	make_file();
	add_imports();
	file.dynamic[3].d_un.d_val = 1 * sizeof(ElfW(Rela));
	file.dynamic[2].d_un.d_val = 0;
	add_slot(RELA, 0, 0, 1, R_X86_64_64, &elsewhere);
	((ElfW(Rela) *)(file.memory + RELA))->r_addend = 8;
	see_slots();
	assert_int_equal(seen.n, 0);
}

TEST(a_slot_is_written)
{
	static int elsewhere;
	static void *slot;
	struct object o;

	make_file();
	assert_true(object_read(&file.info, &o));
	assert_int_equal(object_write_slot(&o, &slot, &elsewhere), 0);
	assert_ptr_equal(slot, &elsewhere);
}
#endif

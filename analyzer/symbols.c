/*
 * Names for recorded frames, by libdwfl
 *
 * Each file is a Dwfl of its own with one module, opened when the first of its
 * frames is asked for. A frame is a return address: the call lies before it.
 * Debug information is looked for in the file and by its build id under
 * /usr/lib/debug, never over the network.
 */
#include "analyzer/symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"

struct binary {
	char *path, *build_id;
	const char *name; /* path without the directory */
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Addr bias;     /* of the file's addresses in @dwfl */
	const char *problem; /* NULL: names can be found */
	struct binary *next;
};

struct symbols {
	struct binary *binaries;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_build_id_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

int symbols_open(struct symbols **ret_symbols)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return log_err(-ENOMEM, "symbols");
	*ret_symbols = symbols;
	return 0;
}

static void binary_free(struct binary *binary)
{
	dwfl_end(binary->dwfl);
	free(binary->path);
	free(binary->build_id);
	free(binary);
}

void symbols_close(struct symbols *symbols)
{
	struct binary *binary;

	if (!symbols)
		return;
	while ((binary = symbols->binaries)) {
		symbols->binaries = binary->next;
		binary_free(binary);
	}
	free(symbols);
}

static bool same_build(Dwfl_Module *module, const char *build_id)
{
	const unsigned char *bits;
	char text[2 * 64 + 1] = "";
	GElf_Addr at;
	int n;

	n = dwfl_module_build_id(module, &bits, &at);
	for (int i = 0; i < n && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", bits[i]);
	return n > 0 && build_id && !strcmp(text, build_id);
}

static const char *load(struct binary *binary)
{
	binary->dwfl = dwfl_begin(&callbacks);
	if (!binary->dwfl)
		return "no memory";
	dwfl_report_begin(binary->dwfl);
	binary->module = dwfl_report_offline(binary->dwfl, binary->path, binary->path, -1);
	dwfl_report_end(binary->dwfl, NULL, NULL);
	if (!binary->module || !dwfl_module_getelf(binary->module, &binary->bias))
		return "file not found";
	if (!binary->build_id)
		return "no build id";
	return same_build(binary->module, binary->build_id) ? NULL : "binary changed";
}

static bool is(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct binary *find(struct symbols *symbols, const struct frame *frame)
{
	struct binary *binary;
	const char *slash;

	for (binary = symbols->binaries; binary; binary = binary->next)
		if (is(binary->path, frame->module) && is(binary->build_id, frame->build_id))
			return binary;
	binary = calloc(1, sizeof(*binary));
	if (!binary)
		return NULL;
	binary->path = strdup(frame->module);
	binary->build_id = frame->build_id ? strdup(frame->build_id) : NULL;
	if (!binary->path || (frame->build_id && !binary->build_id)) {
		binary_free(binary);
		return NULL;
	}
	slash = strrchr(binary->path, '/');
	binary->name = slash ? slash + 1 : binary->path;
	binary->problem = load(binary);
	binary->next = symbols->binaries;
	symbols->binaries = binary;
	return binary;
}

static const char *without_directory(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* Where @die was inlined: DW_AT_call_file and DW_AT_call_line. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct symbol *symbol)
{
	Dwarf_Word file = 0, line = 0;
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	size_t nfiles;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) ||
	    dwarf_getsrcfiles(cu, &files, &nfiles) || file >= nfiles)
		return;
	symbol->file = without_directory(dwarf_filesrc(files, file, NULL, NULL));
	symbol->line = (int)line;
}

/* The functions around @addr by DWARF: inlined ones, then the one they are in. */
static unsigned int dwarf_functions(const struct binary *binary, Dwarf_Addr addr,
				    struct symbol *list, unsigned int max)
{
	Dwarf_Die *scopes = NULL, *around = NULL;
	unsigned int found = 0;
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(binary->module, addr, &bias);
	int n = cu ? dwarf_getscopes(cu, addr - bias, &scopes) : 0;

	if (n > 0)
		n = dwarf_getscopes_die(&scopes[0], &around);
	for (int i = 0; i < n && found < max; i++) {
		int tag = dwarf_tag(&around[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		list[found].function = dwarf_diename(&around[i]);
		list[found].inlined = tag == DW_TAG_inlined_subroutine;
		if (!list[found].function)
			break;
		if (!list[found++].inlined)
			break;
		if (found < max)
			call_site(cu, &around[i], &list[found]);
	}
	free(scopes);
	free(around);
	return found;
}

static void find_line(const struct binary *binary, Dwarf_Addr addr, struct symbol *symbol)
{
	Dwfl_Line *line = dwfl_module_getsrc(binary->module, addr);

	if (line)
		symbol->file = without_directory(
			dwfl_lineinfo(line, NULL, &symbol->line, NULL, NULL, NULL));
}

/* By the symbol table: the name, where DWARF has none, and the offset. */
static void find_in_table(const struct binary *binary, Dwarf_Addr addr, struct symbol *symbol)
{
	GElf_Off offset = 0;
	GElf_Sym sym;
	const char *name;

	name = dwfl_module_addrinfo(binary->module, addr, &offset, &sym, NULL, NULL, NULL);
	/* a name that only lies before the address says nothing */
	if (!name || (sym.st_size && offset >= sym.st_size))
		return;
	if (!symbol->function)
		symbol->function = name;
	symbol->offset = offset + 1; /* that of the return address */
}

unsigned int symbols_find(struct symbols *symbols, const struct frame *frame,
			  struct symbol *ret_symbols, unsigned int max)
{
	struct binary *binary = frame->module ? find(symbols, frame) : NULL;
	unsigned int n = 0;
	Dwarf_Addr addr;

	memset(ret_symbols, 0, max * sizeof(ret_symbols[0]));
	if (binary && !binary->problem && frame->offset) {
		addr = frame->offset - 1 + binary->bias;
		n = dwarf_functions(binary, addr, ret_symbols, max);
		find_in_table(binary, addr, &ret_symbols[n ? n - 1 : 0]);
		if (ret_symbols[0].function)
			find_line(binary, addr, &ret_symbols[0]);
	}
	if (!ret_symbols[0].function)
		ret_symbols[0].offset = frame->module ? frame->offset : frame->ip;
	n = n ? n : 1;
	for (unsigned int i = 0; i < n && binary; i++) {
		ret_symbols[i].module = binary->name;
		ret_symbols[i].problem = binary->problem;
	}
	return n;
}

const char *symbol_text(const struct symbol *symbol, char *text, size_t size)
{
	char offset[32] = "", file[256];

	if (symbol->offset)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, symbol->offset);
	if (symbol->file)
		snprintf(file, sizeof(file), "%s:%d", symbol->file, symbol->line);
	else
		snprintf(file, sizeof(file), "%s", symbol->module ? symbol->module : "");
	if (!symbol->module)
		snprintf(text, size, "0x%" PRIx64, symbol->offset);
	else if (symbol->function)
		snprintf(text, size, "%s%s (%s%s)", symbol->function, offset, file,
			 symbol->inlined ? ", inlined" : "");
	else if (symbol->problem)
		snprintf(text, size, "%s%s (%s)", symbol->module, offset, symbol->problem);
	else
		snprintf(text, size, "%s%s", symbol->module, offset);
	return text;
}

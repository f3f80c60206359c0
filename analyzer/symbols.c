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
	const char *name;    /* path without the directory */
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

/* The innermost function at @addr by DWARF, inlined ones too; NULL if it has none. */
static const char *dwarf_function(const struct binary *binary, Dwarf_Addr addr)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(binary->module, addr, &bias), *scopes = NULL;
	const char *name = NULL;
	int n = cu ? dwarf_getscopes(cu, addr - bias, &scopes) : 0;

	for (int i = 0; i < n && !name; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			name = dwarf_diename(&scopes[i]);
	}
	free(scopes);
	return name;
}

static void find_line(const struct binary *binary, Dwarf_Addr addr, struct symbol *symbol)
{
	Dwfl_Line *line = dwfl_module_getsrc(binary->module, addr);
	const char *slash;

	if (!line)
		return;
	symbol->file = dwfl_lineinfo(line, NULL, &symbol->line, NULL, NULL, NULL);
	slash = symbol->file ? strrchr(symbol->file, '/') : NULL;
	if (slash)
		symbol->file = slash + 1;
}

static void find_function(const struct binary *binary, Dwarf_Addr addr, struct symbol *symbol)
{
	const char *name = dwarf_function(binary, addr), *table;
	GElf_Off offset = 0;
	GElf_Sym sym;

	table = dwfl_module_addrinfo(binary->module, addr, &offset, &sym, NULL, NULL, NULL);
	/* a name that only lies before the address says nothing */
	if (table && sym.st_size && offset >= sym.st_size)
		table = NULL;
	if (!name && !table)
		return;
	symbol->function = name ? name : table;
	symbol->offset = table ? offset + 1 : 0;
}

void symbols_find(struct symbols *symbols, const struct frame *frame, struct symbol *ret_symbol)
{
	struct binary *binary = frame->module ? find(symbols, frame) : NULL;

	*ret_symbol = (struct symbol){ .offset = frame->module ? frame->offset : frame->ip };
	if (!binary)
		return;
	ret_symbol->module = binary->name;
	ret_symbol->problem = binary->problem;
	if (binary->problem || !frame->offset)
		return;
	find_function(binary, frame->offset - 1 + binary->bias, ret_symbol);
	if (ret_symbol->function)
		find_line(binary, frame->offset - 1 + binary->bias, ret_symbol);
}

const char *symbols_frame(struct symbols *symbols, const struct frame *frame, char *text,
			  size_t size)
{
	struct symbol symbol;

	symbols_find(symbols, frame, &symbol);
	if (!symbol.module)
		snprintf(text, size, "0x%" PRIx64, frame->ip);
	else if (!symbol.function)
		snprintf(text, size, "%s+0x%" PRIx64 "%s%s%s", symbol.module, symbol.offset,
			 symbol.problem ? " (" : "", symbol.problem ? symbol.problem : "",
			 symbol.problem ? ")" : "");
	else if (symbol.file)
		snprintf(text, size, "%s+0x%" PRIx64 " (%s:%d)", symbol.function, symbol.offset,
			 symbol.file, symbol.line);
	else
		snprintf(text, size, "%s+0x%" PRIx64 " (%s)", symbol.function, symbol.offset,
			 symbol.module);
	return text;
}

/*
 * Names of the places of a call stack
 *
 *	return address --libdwfl--> functions: inlined ones, then the function that contains them
 *
 * Each return address is looked up only once, since programs call verbs from few places. Files that
 * the program loads later are added when an address is in none of the known files.
 */
#include "shim/trace/faults/places.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/faults/rule.h"

/* clang-format off */
#define DW_LIB(X) \
	X(dwarf_attr) \
	X(dwarf_diename) \
	X(dwarf_filesrc) \
	X(dwarf_formudata) \
	X(dwarf_getscopes) \
	X(dwarf_getscopes_die) \
	X(dwarf_getsrcfiles) \
	X(dwarf_tag) \
	X(dwfl_addrmodule) \
	X(dwfl_begin) \
	X(dwfl_lineinfo) \
	X(dwfl_linux_proc_find_elf) \
	X(dwfl_linux_proc_report) \
	X(dwfl_module_addrdie) \
	X(dwfl_module_addrname) \
	X(dwfl_module_getsrc) \
	X(dwfl_report_begin_add) \
	X(dwfl_report_end) \
	X(dwfl_standard_find_debuginfo)
/* clang-format on */

#define FUNCTION(name) typeof(name) *name;
static struct {
	DW_LIB(FUNCTION)
} dw;
#undef FUNCTION

enum { KNOWN = 4096, INLINED = 8 };

struct known_address {
	void *address; /* NULL: free */
	unsigned int n;
	struct fault_place places[INLINED];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known_address *known; /* KNOWN entries */
static Dwfl *files;                 /* NULL: libdw is not available */

static bool find_functions(void *lib)
{
#define FUNCTION(name)                                \
	dw.name = (typeof(dw.name))dlsym(lib, #name); \
	if (!dw.name)                                 \
		return false;
	DW_LIB(FUNCTION)
#undef FUNCTION
	return true;
}

static void add_files(void)
{
	dw.dwfl_report_begin_add(files);
	dw.dwfl_linux_proc_report(files, getpid());
	dw.dwfl_report_end(files, NULL, NULL);
}

void places_load(void)
{
	static char *path; /* where separate debug information is: NULL, the default */
	static Dwfl_Callbacks callbacks = { .debuginfo_path = &path };
	void *lib = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL), *frames[2];

	if (!lib || !find_functions(lib))
		return;
	known = calloc(KNOWN, sizeof(*known));
	callbacks.find_elf = dw.dwfl_linux_proc_find_elf;
	callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
	files = known ? dw.dwfl_begin(&callbacks) : NULL;
	backtrace(frames, 2); /* now, since the first call loads a library */
}

void places_unwind(struct places *places)
{
	places->n = files ? backtrace(places->frames, PLACES_FRAMES) : 0;
}

static const char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void set_line(struct fault_place *place, Dwfl_Module *module, Dwarf_Addr address)
{
	Dwfl_Line *line = dw.dwfl_module_getsrc(module, address);

	if (line)
		place->file =
			copy_text(dw.dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL));
}

/* Set the line into which @die was inlined. */
static void set_call_line(struct fault_place *place, Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Word file = 0, line = 0;
	Dwarf_Attribute attribute;
	Dwarf_Files *all;
	size_t n;

	if (dw.dwarf_formudata(dw.dwarf_attr(die, DW_AT_call_line, &attribute), &line) ||
	    dw.dwarf_formudata(dw.dwarf_attr(die, DW_AT_call_file, &attribute), &file) ||
	    dw.dwarf_getsrcfiles(unit, &all, &n) || file >= n)
		return;
	place->file = copy_text(dw.dwarf_filesrc(all, file, NULL, NULL));
	place->line = (int)line;
}

static void add_functions(struct known_address *found, Dwarf_Die *unit, Dwarf_Die *around, int n)
{
	for (int i = 0; i < n && found->n < INLINED; i++) {
		int tag = dw.dwarf_tag(&around[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		found->places[found->n++].function = copy_text(dw.dwarf_diename(&around[i]));
		if (tag == DW_TAG_subprogram)
			break;
		if (found->n < INLINED)
			set_call_line(&found->places[found->n], unit, &around[i]);
	}
}

static void find_scopes(struct known_address *found, Dwfl_Module *module, Dwarf_Addr address)
{
	Dwarf_Die *scopes = NULL, *around = NULL, *unit;
	Dwarf_Addr bias;
	int n;

	unit = dw.dwfl_module_addrdie(module, address, &bias);
	n = unit ? dw.dwarf_getscopes(unit, address - bias, &scopes) : 0;
	if (n > 0)
		n = dw.dwarf_getscopes_die(&scopes[0], &around);
	add_functions(found, unit, around, n);
	free(scopes);
	free(around);
}

static void find_names(struct known_address *found)
{
	Dwarf_Addr address = (Dwarf_Addr)(uintptr_t)found->address - 1;
	Dwfl_Module *module = dw.dwfl_addrmodule(files, address);

	if (!module) {
		add_files();
		module = dw.dwfl_addrmodule(files, address);
	}
	if (!module)
		return;
	set_line(&found->places[0], module, address);
	find_scopes(found, module, address);
	if (!found->n)
		found->places[found->n++].function =
			copy_text(dw.dwfl_module_addrname(module, address));
}

/* The entry of @address, added if it is new; NULL: there are too many. */
static struct known_address *get_known_address(void *address)
{
	size_t at = (uintptr_t)address * 0x9e3779b97f4a7c15ull >> 52;

	for (size_t i = 0; i < KNOWN; i++, at = (at + 1) % KNOWN) {
		if (known[at].address == address)
			return &known[at];
		if (known[at].address)
			continue;
		known[at].address = address;
		find_names(&known[at]);
		return &known[at];
	}
	return NULL;
}

static bool is_address_at(void *address, const char *at)
{
	const struct known_address *found = get_known_address(address);

	for (unsigned int i = 0; found && i < found->n; i++)
		if (fault_is_at(at, &found->places[i]))
			return true;
	return false;
}

bool places_match(const struct places *places, const char *at)
{
	bool found = false;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < places->n && !found; i++)
		found = is_address_at(places->frames[i], at);
	pthread_mutex_unlock(&mutex);
	return found;
}

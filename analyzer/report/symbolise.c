/*
 * Names for places in files, by libdwfl, in a separate process
 *
 * Each file is a Dwfl with one module. If its debug information is in another file, the process
 * that asks opens that file by its build id. The paths that a file names itself (.gnu_debuglink,
 * .gnu_debugaltlink, .dwo) are never followed and debuginfod is not used: the limit of open files
 * allows no descriptor except while one is received.
 */
#include "analyzer/report/symbolise.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/report/demangle.h"
#include "core/base/library.h"

/* clang-format off */
#define DW_LIB(X) \
	X(dwarf_attr) \
	X(dwarf_attr_integrate) \
	X(dwarf_begin) \
	X(dwarf_diename) \
	X(dwarf_filesrc) \
	X(dwarf_formstring) \
	X(dwarf_formudata) \
	X(dwarf_getscopes) \
	X(dwarf_getscopes_die) \
	X(dwarf_getsrcfiles) \
	X(dwarf_setalt) \
	X(dwarf_tag) \
	X(dwelf_dwarf_gnu_debugaltlink) \
	X(dwelf_elf_gnu_build_id) \
	X(dwfl_begin) \
	X(dwfl_end) \
	X(dwfl_lineinfo) \
	X(dwfl_module_addrdie) \
	X(dwfl_module_addrinfo) \
	X(dwfl_module_build_id) \
	X(dwfl_module_getdwarf) \
	X(dwfl_module_getelf) \
	X(dwfl_module_getsrc) \
	X(dwfl_offline_section_address) \
	X(dwfl_report_begin) \
	X(dwfl_report_end) \
	X(dwfl_report_offline) \
	X(elf_begin) \
	X(elf_end) \
	X(elf_kind)
/* clang-format on */

static LIBRARY(DW_LIB) dw;

struct binary {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Addr bias; /* of the file's addresses in @dwfl */
	bool shared;     /* its shared part has been looked for */
	bool table_only; /* only its symbol table is read, not its debug information */
};

static struct reader {
	int socket;
	struct binary *binaries;
	uint32_t nbinaries;
} reader;

/* Limits */

static void set_limit(int resource, rlim_t soft)
{
	struct rlimit limit;

	if (!getrlimit(resource, &limit)) {
		limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
		setrlimit(resource, &limit);
	}
}

static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	if (statm && fscanf(statm, "%llu", &pages) != 1)
		pages = 0;
	if (statm)
		fclose(statm);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Allow our own memory, and that of each file while it is mapped. */
static void allow_memory(int64_t more)
{
	static uint64_t allowed;

	if (!allowed)
		allowed = address_space();
	if (!allowed)
		return; /* no /proc: our own size is unknown */
	allowed += (uint64_t)more;
	set_limit(RLIMIT_AS, allowed);
}

static int64_t size_of(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) ? st.st_size : 0;
}

/*
 * Ignore termination signals, which are meant for the parent: this process exits when its socket
 * closes. A fault terminates it at once.
 */
static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD };
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		signal(deadly[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit_process(unsigned int seconds)
{
	const struct rlimit cpu = { seconds, seconds + 1 };

	set_signals();
	unsetenv("DEBUGINFOD_URLS");
	set_limit(RLIMIT_CORE, 0);
	setrlimit(RLIMIT_CPU, &cpu);
	allow_memory(SYMBOLISE_MEMORY);
	set_limit(RLIMIT_NOFILE, 0);
}

/* Packets */

static int get_descriptor(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (part && part->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	return fd;
}

/* Receive a request. False at the end of the stream; *@ret_fd is -1 if no descriptor came. */
static bool receive_request(struct symbolise_ask *ask, int *ret_fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { ask, sizeof(*ask) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n;

	set_limit(RLIMIT_NOFILE, RLIM_INFINITY);
	n = recvmsg(reader.socket, &message, MSG_CMSG_CLOEXEC);
	set_limit(RLIMIT_NOFILE, 0);
	if (n != sizeof(*ask))
		return false;
	*ret_fd = get_descriptor(&message);
	allow_memory(size_of(*ret_fd));
	return true;
}

static void send_answer(const struct symbolise_answer *answer)
{
	size_t size = offsetof(struct symbolise_answer, names) + answer->n * sizeof(*answer->names);

	if (send(reader.socket, answer, size, MSG_NOSIGNAL) != (ssize_t)size)
		_exit(0);
}

static void write_id(char id[SYMBOLISE_ID], const unsigned char *bits, int n)
{
	id[0] = '\0';
	for (int i = 0; i < n && i < (SYMBOLISE_ID - 1) / 2; i++)
		snprintf(id + 2 * i, 3, "%02x", bits[i]);
}

static bool has_id(Elf *elf, const unsigned char *bits, int n)
{
	const void *found;

	return elf && dw.dwelf_elf_gnu_build_id(elf, &found) == n &&
	       !memcmp(found, bits, (size_t)n);
}

static bool has_build_id(int fd, const unsigned char *bits, int n)
{
	Elf *elf = dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool same = dw.elf_kind(elf) == ELF_K_ELF && has_id(elf, bits, n);

	dw.elf_end(elf);
	return same;
}

/* The debug information of a build, -1 if there is none. */
static int request_debug(const unsigned char *bits, int n)
{
	struct symbolise_answer asked = { 0 };
	struct symbolise_ask given;
	int fd = -1;

	write_id(asked.wanted, bits, n);
	if (n <= 2)
		return -1;
	send_answer(&asked);
	if (!receive_request(&given, &fd))
		_exit(0);
	if (fd >= 0 && !has_build_id(fd, bits, n)) {
		allow_memory(-size_of(fd));
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Files */

static int find_elf(Dwfl_Module *module, void **binary, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	(void)module, (void)binary, (void)name, (void)base, (void)file, (void)elf;
	return -1; /* the file was passed to this process */
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	const unsigned char *bits;
	GElf_Addr at;
	int n = dw.dwfl_module_build_id(module, &bits, &at);

	(void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret_name;
	if (*userdata || n <= 0) /* the second call is for .gnu_debugaltlink */
		return -1;
	*userdata = module;
	return request_debug(bits, n);
}

static Dwfl_Callbacks callbacks = {
	.find_elf = find_elf, .find_debuginfo = find_debuginfo,
	/* section_address: libdw's */
};

/* dwz moves parts that several files share into an additional file. */
static void find_shared_part(struct binary *binary)
{
	Dwarf_Addr bias;
	Dwarf *dwarf, *shared = NULL;
	const char *name;
	const void *bits;
	ssize_t n;
	int fd;

	if (binary->shared)
		return;
	binary->shared = true;
	dwarf = dw.dwfl_module_getdwarf(binary->module, &bias);
	n = dwarf ? dw.dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bits) : 0;
	fd = n > 0 ? request_debug(bits, (int)n) : -1;
	if (fd >= 0)
		shared = dw.dwarf_begin(fd, DWARF_C_READ);
	if (shared)
		dw.dwarf_setalt(dwarf, shared);
}

static enum symbolise_problem load_binary(struct binary *binary, int fd, const char *id)
{
	char found[SYMBOLISE_ID];
	const unsigned char *bits;
	GElf_Addr at;
	int n;

	binary->dwfl = dw.dwfl_begin(&callbacks);
	if (binary->dwfl) {
		dw.dwfl_report_begin(binary->dwfl);
		binary->module = dw.dwfl_report_offline(binary->dwfl, "", "", fd);
		dw.dwfl_report_end(binary->dwfl, NULL, NULL);
	}
	if (!binary->module)
		close(fd); /* the module would own it */
	if (!binary->dwfl)
		return SYMBOLISE_MEMORY_OUT;
	if (!binary->module || !dw.dwfl_module_getelf(binary->module, &binary->bias))
		return SYMBOLISE_NOT_READ;
	n = dw.dwfl_module_build_id(binary->module, &bits, &at);
	write_id(found, bits, n);
	if (strcmp(found, id))
		return SYMBOLISE_CHANGED;
	return SYMBOLISE_FINE;
}

/* The slot of file @file among the open ones; NULL if out of memory. */
static struct binary *get_binary(uint32_t file)
{
	struct binary *more;

	if (file < reader.nbinaries)
		return &reader.binaries[file];
	more = reallocarray(reader.binaries, (size_t)file + 1, sizeof(*more));
	if (!more)
		return NULL;
	reader.binaries = more;
	for (; reader.nbinaries <= file; reader.nbinaries++)
		more[reader.nbinaries] = (struct binary){ 0 };
	return &more[file];
}

static void open_file(const struct symbolise_ask *ask, int fd, struct symbolise_answer *ret)
{
	struct binary *binary = fd < 0 ? NULL : get_binary(ask->file);
	int64_t size = size_of(fd);

	ret->problem = binary ? load_binary(binary, fd, ask->id) : SYMBOLISE_MEMORY_OUT;
	if (binary)
		binary->table_only = ask->table_only;
	if (!ret->problem)
		return;
	if (binary) {
		dw.dwfl_end(binary->dwfl);
		*binary = (struct binary){ 0 };
	} else if (fd >= 0) {
		close(fd);
	}
	allow_memory(-size);
}

/* Names */

/* A path that is too long loses its directories. */
static void set_file(struct symbolise_name *name, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (slash && strlen(path) >= sizeof(name->file))
		path = slash + 1;
	snprintf(name->file, sizeof(name->file), "%s", path ? path : "");
}

/* The place where @die was inlined: DW_AT_call_file and DW_AT_call_line. */
static void find_call_site(Dwarf_Die *cu, Dwarf_Die *die, struct symbolise_name *name)
{
	Dwarf_Word file = 0, line = 0;
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	size_t nfiles;

	if (dw.dwarf_formudata(dw.dwarf_attr(die, DW_AT_call_line, &attribute), &line) ||
	    dw.dwarf_formudata(dw.dwarf_attr(die, DW_AT_call_file, &attribute), &file) ||
	    dw.dwarf_getsrcfiles(cu, &files, &nfiles) || file >= nfiles)
		return;
	set_file(name, dw.dwarf_filesrc(files, file, NULL, NULL));
	name->line = (int)line;
}

/* The symbol's name, which has the class; for C, where it may be an alias, the function's name. */
static const char *name_function(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *symbol =
		dw.dwarf_formstring(dw.dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return symbol && demangle_knows(symbol) ? symbol : dw.dwarf_diename(die);
}

/* The functions around @addr by DWARF: inlined ones, then the one they are in. */
static uint32_t find_functions(struct binary *binary, Dwarf_Addr addr, struct symbolise_name *names)
{
	Dwarf_Die *scopes = NULL, *around = NULL, *cu;
	uint32_t found = 0;
	Dwarf_Addr bias;
	int n;

	find_shared_part(binary);
	cu = dw.dwfl_module_addrdie(binary->module, addr, &bias);
	n = cu ? dw.dwarf_getscopes(cu, addr - bias, &scopes) : 0;
	if (n > 0)
		n = dw.dwarf_getscopes_die(&scopes[0], &around);
	for (int i = 0; i < n && found < SYMBOLISE_MAX; i++) {
		int tag = dw.dwarf_tag(&around[i]);
		const char *function;

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		function = name_function(&around[i]);
		if (!function)
			break;
		demangle_name(function, names[found].function, sizeof(names[found].function));
		names[found].inlined = tag == DW_TAG_inlined_subroutine;
		if (!names[found++].inlined)
			break;
		if (found < SYMBOLISE_MAX)
			find_call_site(cu, &around[i], &names[found]);
	}
	free(scopes);
	free(around);
	return found;
}

static void find_line(const struct binary *binary, Dwarf_Addr addr, struct symbolise_name *name)
{
	Dwfl_Line *line = dw.dwfl_module_getsrc(binary->module, addr);

	if (line)
		set_file(name, dw.dwfl_lineinfo(line, NULL, &name->line, NULL, NULL, NULL));
}

/* Find the function in the symbol table. */
static void find_in_table(const struct binary *binary, Dwarf_Addr addr, struct symbolise_name *to)
{
	GElf_Off offset = 0;
	GElf_Sym sym;
	const char *name;

	name = dw.dwfl_module_addrinfo(binary->module, addr, &offset, &sym, NULL, NULL, NULL);
	/* a symbol that merely precedes the address is not its function */
	if (!name || (sym.st_size && offset >= sym.st_size))
		return;
	demangle_name(name, to->function, sizeof(to->function));
	to->offset = offset + 1; /* the offset of the return address */
}

static void find_names(const struct symbolise_ask *ask, struct symbolise_answer *ret)
{
	struct binary *binary = &reader.binaries[ask->file];
	Dwarf_Addr addr = ask->offset - 1 + binary->bias;
	struct symbolise_name table = { 0 }, *last;

	find_in_table(binary, addr, &table);
	if (binary->table_only)
		/* without the symbol's version */
		table.function[strcspn(table.function, "@")] = '\0';
	ret->n = (binary->table_only ? 0 : find_functions(binary, addr, ret->names)) ?: 1;
	last = &ret->names[ret->n - 1];
	if (!*last->function)
		memcpy(last->function, table.function, sizeof(last->function));
	last->offset = table.offset;
	if (*ret->names[0].function && !binary->table_only)
		find_line(binary, addr, &ret->names[0]);
}

const char *symbolise_load(void)
{
	static const char *const names[] = { DW_LIB(LIBRARY_NAME) NULL };

	return library_load("libdw.so.1", names, dw.functions);
}

void symbolise_run(int socket, unsigned int seconds)
{
	static struct symbolise_answer found;
	struct symbolise_ask ask;
	int fd;

	reader.socket = socket;
	callbacks.section_address = dw.dwfl_offline_section_address;
	limit_process(seconds);
	while (receive_request(&ask, &fd)) {
		memset(&found, 0, sizeof(found));
		if (ask.kind == SYMBOLISE_OPEN)
			open_file(&ask, fd, &found);
		else if (ask.file < reader.nbinaries && reader.binaries[ask.file].module)
			find_names(&ask, &found);
		send_answer(&found);
	}
	_exit(0);
}

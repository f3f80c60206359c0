/* analyzer/report/symbols.c over frames of this program. */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "analyzer/report/symbolise.h"
#include "analyzer/report/symbols.h"
#include "tests/test.h"

static char path[PATH_MAX], build_id[129];
static uint64_t base;

static void take_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *segment)
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

/* A return address in this program. */
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

static int find_this_program(void **state)
{
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	if (n > 0)
		path[n] = '\0';
	dl_iterate_phdr(take_program, NULL);
	return 0;
}

GROUP(find_this_program, NULL);

TEST(a_static_function_has_its_name_and_line)
{
	struct symbols *symbols;
	char text[256];
	struct frame frame = a_frame();

	if (!build_id[0])
		skip();
	assert_int_equal(symbols_open(&symbols), 0);
	text_of(symbols, &frame, text, sizeof(text));
	assert_non_null(strstr(text, "a_frame"));
	assert_non_null(strstr(text, "symbols_test.c:"));
	symbols_close(symbols);
}

/* This program under the name of the C library. */
TEST(the_c_library_has_names_without_lines)
{
	static const char *const names[] = { "libc.so.6", "libpthread.so.0",
					     "ld-linux-x86-64.so.2" };
	char folder[] = "/tmp/symbols-XXXXXX", link[PATH_MAX], text[256];
	struct frame frame = a_frame();
	struct symbols *symbols;

	if (!build_id[0])
		skip();
	frame.module = link;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(symbols_open(&symbols), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(link, sizeof(link), "%s/%s", folder, names[i]);
		assert_int_equal(symlink(path, link), 0);
		text_of(symbols, &frame, text, sizeof(text));
		assert_non_null(strstr(text, "a_frame"));
		assert_null(strstr(text, "symbols_test.c"));
		unlink(link);
	}
	symbols_close(symbols);
	rmdir(folder);
}

TEST(another_build_gives_no_name)
{
	struct symbols *symbols;
	struct frame frame = a_frame();
	char text[256];

	frame.build_id = "0123456789abcdef";
	assert_int_equal(symbols_open(&symbols), 0);
	text_of(symbols, &frame, text, sizeof(text));
	assert_int_equal(strncmp(text, "symbols_test+0x", 15), 0);
	assert_non_null(strstr(text, "(binary changed)"));
	symbols_close(symbols);
}

TEST(a_file_that_is_gone_gives_an_offset)
{
	struct frame frame = {
		.ip = 0x1234, .module = "/no/such/libfoo.so", .build_id = "ab", .offset = 0x1234
	};
	struct symbols *symbols;
	char text[256];

	assert_int_equal(symbols_open(&symbols), 0);
	text_of(symbols, &frame, text, sizeof(text));
	assert_string_equal(text, "libfoo.so+0x1234 (file not found)");
	symbols_close(symbols);
}

TEST(no_module_gives_the_address)
{
	struct frame frame = { .ip = 0xabc };
	struct symbols *symbols;
	char text[256];

	assert_int_equal(symbols_open(&symbols), 0);
	assert_string_equal(text_of(symbols, &frame, text, sizeof(text)), "0xabc");
	symbols_close(symbols);
}

/* Check the problem reported for a frame in @module. */
static void assert_problem(const char *module, const char *problem)
{
	struct frame frame = a_frame();
	struct symbols *symbols;
	struct symbol symbol;

	frame.module = module;
	assert_int_equal(symbols_open(&symbols), 0);
	assert_int_equal(symbols_find(symbols, &frame, &symbol, 1), 1);
	assert_null(symbol.function);
	assert_string_equal(symbol.problem, problem);
	symbols_close(symbols);
}

TEST(only_regular_files_are_opened)
{
	char folder[] = "/tmp/symbols_test.XXXXXX", fifo[64];

	assert_non_null(mkdtemp(folder));
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_problem(fifo, "not a regular file");
	unlink(fifo);
	rmdir(folder);
	assert_problem("/dev/zero", "not a regular file");
	assert_problem("/proc/self/environ", "not a regular file");
	assert_problem("/", "not a regular file");
}

TEST(paths_are_absolute)
{
	assert_problem("symbols_test", "no absolute path");
	assert_problem("", "no absolute path");
}

/* A file of @size bytes that begins with @text. */
static void assert_file_problem(const char *text, off_t size, const char *problem)
{
	char name[] = "/tmp/symbols_test.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(ftruncate(fd, size), 0);
	assert_problem(name, problem);
	close(fd);
	unlink(name);
}

TEST(files_have_a_size_and_a_kind)
{
	assert_file_problem("\177ELF", (4ll << 30) + 1, "file too large");
	assert_file_problem("\037\213\010", 100, "not an ELF file");
	assert_file_problem("", 0, "not an ELF file");
	assert_file_problem("\177ELF", 4096, "file cannot be read");
}

/* Our only child, by its parent in /proc/PID/stat. */
static pid_t reader_of_symbols(void)
{
	DIR *all = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *d; !found && (d = readdir(all));) {
		char name[300];
		FILE *file;
		int parent;

		snprintf(name, sizeof(name), "/proc/%s/stat", d->d_name);
		file = atoi(d->d_name) > 0 ? fopen(name, "re") : NULL;
		if (file && fscanf(file, "%*d %*s %*c %d", &parent) == 1 && parent == getpid())
			found = atoi(d->d_name);
		if (file)
			fclose(file);
	}
	closedir(all);
	assert_int_not_equal(found, 0);
	return found;
}

/* The reader dies at one place; check the problem reported for another file. */
static void assert_after(int signal, const char *problem)
{
	struct frame frame = a_frame();
	struct symbols *symbols;
	struct symbol symbol;

	if (!build_id[0])
		skip();
	assert_int_equal(symbols_open(&symbols), 0);
	symbols_find(symbols, &frame, &symbol, 1);
	assert_non_null(symbol.function);
	assert_int_equal(kill(reader_of_symbols(), signal), 0);
	frame.offset++; /* a known answer is not requested again */
	symbols_find(symbols, &frame, &symbol, 1);
	assert_string_equal(symbol.problem, "file cannot be read");
	frame.build_id = "ab";
	symbols_find(symbols, &frame, &symbol, 1);
	assert_string_equal(symbol.problem, problem);
	symbols_close(symbols);
}

TEST(a_reader_that_dies_is_begun_again)
{
	assert_after(SIGSEGV, "binary changed");
}

TEST(time_is_bounded)
{
	assert_after(SIGXCPU, "symbols take too long");
}

/* The reader needs at most three: the file, and the two ends of its socket. */
TEST(too_few_descriptors_are_called_so)
{
	struct frame frame = a_frame();
	struct rlimit before, few;
	struct symbols *symbols;
	struct symbol symbol;
	int free_one = dup(STDIN_FILENO);

	if (!build_id[0])
		skip();
	close(free_one);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (rlim_t more = 0; more < 3; more++) {
		few = (struct rlimit){ (rlim_t)free_one + more, before.rlim_max };
		assert_int_equal(symbols_open(&symbols), 0);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		symbols_find(symbols, &frame, &symbol, 1);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_string_equal(symbol.problem, "too few descriptors: ulimit -n");
		symbols_close(symbols);
	}
}

/* The reader alone, at the other end of a socket. */

static int begin_reader(pid_t *ret_reader)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	*ret_reader = fork();
	assert_true(*ret_reader >= 0);
	if (!*ret_reader) {
		close(ends[0]);
		symbolise_run(ends[1], 60);
	}
	close(ends[1]);
	return ends[0];
}

static void end_reader(int socket, pid_t reader)
{
	int status = -1;

	close(socket);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

/* Also sends descriptor @fd unless it is -1. */
static struct symbolise_answer ask_reader(int socket, struct symbolise_ask ask, int fd)
{
	static struct symbolise_answer answer;
	const struct symbolise_ask nothing = { .kind = SYMBOLISE_GIVE };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct cmsghdr *right = (struct cmsghdr *)control;
	struct iovec part = { &ask, sizeof(ask) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		*right = (struct cmsghdr){ CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(right), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), sizeof(ask));
	assert_true(recv(socket, &answer, sizeof(answer), 0) > 0);
	while (*answer.wanted) {
		assert_int_equal(send(socket, &nothing, sizeof(nothing), MSG_NOSIGNAL),
				 sizeof(nothing));
		assert_true(recv(socket, &answer, sizeof(answer), 0) > 0);
	}
	return answer;
}

static void open_program(int socket)
{
	struct symbolise_ask ask = { .kind = SYMBOLISE_OPEN };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	snprintf(ask.id, sizeof(ask.id), "%s", build_id);
	assert_int_equal(ask_reader(socket, ask, fd).problem, SYMBOLISE_FINE);
	close(fd);
}

TEST(a_file_that_does_not_arrive_costs_no_other)
{
	struct symbolise_ask ask = { .kind = SYMBOLISE_OPEN, .file = 10000 };
	pid_t reader;
	int socket;

	if (!build_id[0])
		skip();
	socket = begin_reader(&reader);
	open_program(socket);
	assert_int_equal(ask_reader(socket, ask, -1).problem, SYMBOLISE_MEMORY_OUT);
	ask = (struct symbolise_ask){ .kind = SYMBOLISE_FIND, .offset = a_frame().offset };
	assert_string_equal(ask_reader(socket, ask, -1).names[0].function, "a_frame");
	end_reader(socket, reader);
}

static unsigned int count_descriptors(pid_t pid)
{
	unsigned int n = 0;
	char name[64];
	DIR *all;

	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	all = opendir(name);
	assert_non_null(all);
	while (readdir(all))
		n++;
	closedir(all);
	return n;
}

TEST(a_file_that_is_not_read_leaves_no_descriptor)
{
	struct symbolise_ask ask = { .kind = SYMBOLISE_OPEN };
	char name[] = "/tmp/symbols_test.XXXXXX";
	int fd = mkstemp(name), socket;
	unsigned int before = 0;
	pid_t reader;

	assert_int_equal(write(fd, "\177ELF", 4), 4);
	unlink(name);
	socket = begin_reader(&reader);
	for (ask.file = 0; ask.file < 3; ask.file++) {
		assert_int_equal(ask_reader(socket, ask, fd).problem, SYMBOLISE_NOT_READ);
		before = ask.file ? before : count_descriptors(reader);
		assert_int_equal(count_descriptors(reader), before);
	}
	close(fd);
	end_reader(socket, reader);
}

TEST(close_accepts_null)
{
	symbols_close(NULL);
}

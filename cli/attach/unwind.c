/*
 * Unwinds copied stacks by libdwfl, in a child process
 *
 * libdwfl asks for registers and memory by callbacks. Memory comes from the copy of the stack, or
 * else from the process, which is running again. A thread of which only SP and PC are known is
 * unwound until a frame needs another register.
 *
 * The child writes one stack after the other to a pipe. If it ends early, by a limit or a crash,
 * what has arrived is used.
 */
#include "cli/attach/unwind.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/memory.h"
#include "cli/attach/stop.h"
#include "core/base/library.h"

/* A user waits for the answer about a process; a core may be large, and does not change. */
enum { PATIENCE_MS = 1500, PATIENCE_CORE_MS = 20000, CPU_SECONDS = 10 };

/* clang-format off */
#define DW_LIB(X) \
	X(dwfl_addrmodule) \
	X(dwfl_attach_state) \
	X(dwfl_begin) \
	X(dwfl_frame_pc) \
	X(dwfl_getthread_frames) \
	X(dwfl_module_addrname) \
	X(dwfl_module_info) \
	X(dwfl_report_begin) \
	X(dwfl_report_elf) \
	X(dwfl_report_end) \
	X(dwfl_thread_state_register_pc) \
	X(dwfl_thread_state_registers)
/* clang-format on */

static LIBRARY(DW_LIB) dw;

/* In the child */
struct unwind_child {
	const struct memory *memory;
	const struct stop *stops, *stop; /* all threads; the thread that is unwound */
	size_t n;
	struct unwind_stack stack;
	Dwfl *dwfl;
};

static bool read_word(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *result, void *arg)
{
	const struct unwind_child *child = arg;
	const struct stop *stop = child->stop;
	uint64_t word;

	(void)dwfl;
	if (at >= stop->sp && at - stop->sp + sizeof(word) <= stop->nstack)
		memcpy(&word, stop->stack + (at - stop->sp), sizeof(word));
	else if (!memory_get(child->memory, at, &word, sizeof(word)))
		return false;
	*result = word;
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct unwind_child *child = arg;
	size_t i = *thread ? (size_t)((struct stop *)*thread - child->stops) + 1 : 0;

	(void)dwfl;
	if (i >= child->n)
		return 0;
	*thread = (void *)(uintptr_t)&child->stops[i];
	return child->stops[i].tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	struct unwind_child *child = arg;

	(void)dwfl;
	*thread = (void *)(uintptr_t)child->stop;
	return child->stop->tid == tid;
}

#if defined(__x86_64__)
enum { DWARF_SP = 7, DWARF_PC = 16 };
#else
enum { DWARF_SP = 31, DWARF_PC = -1 };
#endif

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct stop *stop = arg;

	if (stop->nregisters)
		dw.dwfl_thread_state_registers(thread, 0, stop->nregisters, stop->registers);
	else
		dw.dwfl_thread_state_registers(thread, DWARF_SP, 1, &stop->sp);
	if (!stop->nregisters && DWARF_PC >= 0)
		dw.dwfl_thread_state_registers(thread, DWARF_PC, 1, &stop->pc);
	dw.dwfl_thread_state_register_pc(thread, stop->pc);
	return true;
}

static void copy_name(char to[UNWIND_NAME], const char *from)
{
	snprintf(to, UNWIND_NAME, "%s", from ? from : "");
}

/* Store a frame. The address after a call may be in the next function: look up the byte before. */
static int add_unwound_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwind_child *child = arg;
	struct unwind_frame *kept;
	Dwfl_Module *module;
	const char *path;
	Dwarf_Addr pc;
	bool exact;

	if (child->stack.n == UNWIND_FRAMES || !dw.dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	kept = &child->stack.frames[child->stack.n++];
	kept->pc = pc;
	kept->interrupted = exact && child->stack.n > 1;
	module = dw.dwfl_addrmodule(child->dwfl, pc - !exact);
	if (!module)
		return DWARF_CB_OK;
	path = dw.dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	copy_name(kept->module, path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	copy_name(kept->function, dw.dwfl_module_addrname(module, pc - !exact));
	return DWARF_CB_OK;
}

static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)ret;
	return -1;
}

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_no_debuginfo,
};

static void set_limit(int resource, rlim_t most)
{
	struct rlimit limit = { most, most };

	setrlimit(resource, &limit);
}

/* Does not return. */
static void run_child(struct unwind_child *child, pid_t pid, const struct unwind_module *modules,
		      size_t nmodules, int to)
{
	set_limit(RLIMIT_CPU, CPU_SECONDS);
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_AS, 4ull << 30);
	child->dwfl = dw.dwfl_begin(&callbacks);
	if (!child->dwfl)
		_exit(1);
	dw.dwfl_report_begin(child->dwfl);
	for (size_t i = 0; i < nmodules; i++)
		dw.dwfl_report_elf(child->dwfl, modules[i].name, modules[i].name,
				   fcntl(modules[i].fd, F_DUPFD_CLOEXEC, 3), modules[i].start,
				   false);
	dw.dwfl_report_end(child->dwfl, NULL, NULL);
	set_limit(RLIMIT_NOFILE, 0); /* so that no files are opened that the program's files name */
	child->stop = child->stops;
	if (!dw.dwfl_attach_state(child->dwfl, NULL, pid, &thread_callbacks, child))
		_exit(1);
	for (size_t i = 0; i < child->n; i++) {
		child->stop = &child->stops[i];
		child->stack.n = 0;
		child->stack.complete =
			child->stop->pc && !dw.dwfl_getthread_frames(child->dwfl, child->stop->tid,
								     add_unwound_frame, child);
		if (write(to, &child->stack, sizeof(child->stack)) != sizeof(child->stack))
			_exit(1);
	}
	_exit(0);
}

/* In the parent */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Fill @to until the end of the pipe, or for @patience ms. Returns the number of bytes. */
static size_t receive_stacks(int from, void *to, size_t most, int64_t patience)
{
	int64_t until = now_ms() + patience, left;
	struct pollfd wait = { .fd = from, .events = POLLIN };
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < most && (left = until - now_ms()) > 0) {
		if (poll(&wait, 1, (int)left) <= 0)
			continue;
		n = read(from, (char *)to + used, most - used);
		if (n > 0)
			used += (size_t)n;
	}
	return used;
}

/* Once the child has read the first file, its output is untrusted. */
static void check_stacks(struct unwind_stack *stacks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (stacks[i].n > UNWIND_FRAMES)
			stacks[i].n = 0;
		for (size_t k = 0; k < stacks[i].n; k++) {
			stacks[i].frames[k].function[UNWIND_NAME - 1] = '\0';
			stacks[i].frames[k].module[UNWIND_NAME - 1] = '\0';
		}
	}
}

int unwind_all(const struct memory *memory, pid_t pid, const struct stop *stops, size_t n,
	       const struct unwind_module *modules, size_t nmodules,
	       struct unwind_stack **ret_stacks, const char **ret_why)
{
	static const char *const names[] = { DW_LIB(LIBRARY_NAME) NULL };
	struct unwind_child child = { .memory = memory, .stops = stops, .n = n };
	struct unwind_stack *stacks = calloc(n + 1, sizeof(*stacks));
	size_t got = 0;
	int fds[2];
	pid_t pid_child;

	if (!stacks)
		return -ENOMEM;
	*ret_stacks = stacks;
	*ret_why = library_load("libdw.so.1", names, dw.functions);
	if (*ret_why || pipe2(fds, O_CLOEXEC))
		return 0;
	pid_child = fork();
	if (!pid_child)
		run_child(&child, pid, modules, nmodules, fds[1]);
	close(fds[1]);
	if (pid_child > 0) {
		got = receive_stacks(fds[0], stacks, n * sizeof(*stacks),
				     memory->core ? PATIENCE_CORE_MS : PATIENCE_MS) /
		      sizeof(*stacks);
		kill(pid_child, SIGKILL);
		waitpid(pid_child, NULL, 0);
	}
	close(fds[0]);
	memset(stacks + got, 0, (n - got) * sizeof(*stacks));
	check_stacks(stacks, got);
	*ret_why = got < n ? "some stacks could not be unwound in time" : NULL;
	return 0;
}

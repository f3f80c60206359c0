/*
 * The call stack of a control verb
 *
 * libunwind is loaded by dlopen with RTLD_LOCAL when the first verb is
 * recorded. It is not a dependency of this library, for two reasons: every
 * descendant of a recorded program loads us, and most of them call no verb;
 * and libunwind defines _Unwind_RaiseException and its kin, which in the
 * global scope of a C++ program would stand before those of libgcc.
 *
 * Behind a frame without unwind information libunwind guesses, and asks the
 * kernel whether an address can be read: it writes a byte from there into a
 * pipe that it made at its first walk, and reads it back. A program that has
 * closed all its descriptors may have a file of its own under these numbers,
 * so they are looked at before each walk. Where they are not the pipe any more,
 * or were never found, libc's backtrace() does it: it guesses nothing, and
 * takes ten times as long.
 *
 * What is on a stack need not have a value; valgrind is not to report who looks.
 */
#include "shim/trace/stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/trace/process.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_DISABLE_ERROR_REPORTING
#define VALGRIND_ENABLE_ERROR_REPORTING
#endif

typedef int backtrace_fn(void **frames, int max);

enum { OWN_FRAMES = 7 }; /* of the recorder, at most, above the application's */

/* where this library lies */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static struct {
	int ends[2];
	struct stat stat; /* of both */
} probe; /* libunwind's pipe */

static bool is_probe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == probe.stat.st_ino && st.st_dev == probe.stat.st_dev;
}

/* Its first walk makes the pipe: it gets the numbers that one of ours gets now. */
static bool find_probe(backtrace_fn *take)
{
	void *frame;

	if (pipe2(probe.ends, O_CLOEXEC))
		return false;
	syscall(SYS_close, probe.ends[0]); /* close() would be a cancellation point */
	syscall(SYS_close, probe.ends[1]);
	take(&frame, 1);
	return !fstat(probe.ends[0], &probe.stat) && S_ISFIFO(probe.stat.st_mode) &&
	       is_probe(probe.ends[1]) && fcntl(probe.ends[0], F_GETFL) & O_NONBLOCK;
}

static backtrace_fn *load(void)
{
	static _Atomic(backtrace_fn *) loaded;
	static atomic_bool tried;
	backtrace_fn *take = NULL;
	void *lib;

	if (!atomic_exchange(&tried, true)) {
		lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
		if (lib)
			take = (backtrace_fn *)dlsym(lib, "unw_backtrace");
		if (take && find_probe(take))
			atomic_store(&loaded, take);
	}
	return atomic_load(&loaded);
}

static int walk(void **frames, int max)
{
	backtrace_fn *take = load();

	if (take && is_probe(probe.ends[0]) && is_probe(probe.ends[1]))
		return take(frames, max);
	return backtrace(frames, max);
}

static bool is_ours(const void *ip)
{
	return (const char *)ip >= __ehdr_start && (const char *)ip < _end;
}

unsigned int stack_take(uint64_t *frames, unsigned int max)
{
	void *found[STACK_FRAMES + OWN_FRAMES];
	unsigned int taken = 0;
	int n, i = 0;

	process_hold_forks();
	VALGRIND_DISABLE_ERROR_REPORTING;
	n = walk(found, STACK_FRAMES + OWN_FRAMES);
	VALGRIND_ENABLE_ERROR_REPORTING;
	process_allow_forks();
	while (i < n && is_ours(found[i]))
		i++;
	for (; i < n && taken < max; i++)
		frames[taken++] = (uint64_t)(uintptr_t)found[i];
	return taken;
}

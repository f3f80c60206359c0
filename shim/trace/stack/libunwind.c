/*
 * libunwind, made safe to call in a verb
 *
 * It is loaded with RTLD_LOCAL: it defines _Unwind_RaiseException and related functions, which in
 * the global scope of a C++ program would replace those of libgcc. Operations that are forbidden in
 * a verb, and their workarounds:
 *
 *	dl_iterate_phdr()   libunwind calls it to find the file of an address. It takes
 *			    the loader's lock, and a thread that holds the lock may
 *			    wait for this one. libunwind's pointer to the function is
 *			    replaced by ours, which needs no lock (locate.h)
 *	malloc()            the first unwinding in a thread allocates memory, and a
 *			    signal handler may have interrupted malloc(): libunwind is
 *			    not used until a stack shows that this is not the case
 *	its cache           it never forgets what it has found for an address. When
 *			    another file is mapped where one was unloaded, libunwind
 *			    is not used any more
 *	its locks           a child of fork() inherits their state: if another thread
 *			    was inside libunwind, it is not used in the child
 *	its pipe            after a frame without unwind information it guesses, and
 *			    tests whether an address can be read by writing a byte
 *			    from there into a pipe, created at the first unwinding.
 *			    A program that closes all descriptors may then have files
 *			    of its own with these descriptors. So libunwind's pointers to
 *			    read() and syscall(), by which it writes, are replaced
 *			    by functions that check the descriptors, and unwinding
 *			    fails if they are not the pipe's
 */
#include "shim/trace/stack/libunwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/trace/base/forks.h"
#include "shim/trace/stack/locate.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_DISABLE_ERROR_REPORTING
#define VALGRIND_ENABLE_ERROR_REPORTING
#endif

typedef int backtrace_fn(void **frames, int max);
typedef int visit_fn(struct dl_phdr_info *info, size_t size, void *arg);
typedef void any_fn(void);

static backtrace_fn *loaded;
static _Atomic(backtrace_fn *) usable;
static atomic_uint walkers; /* number of threads inside libunwind */
static bool shared;         /* other threads were inside it when the last fork began */

static __thread bool warm __attribute__((tls_model("initial-exec")));
static __thread uint32_t walking __attribute__((tls_model("initial-exec")));
/* the pipe was lost during this unwinding */
static __thread bool lost __attribute__((tls_model("initial-exec")));

static struct {
	int ends[2];
	bool known;
	struct stat stat; /* of both ends */
} probe;                  /* libunwind's pipe */

static bool is_probe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == probe.stat.st_ino && st.st_dev == probe.stat.st_dev;
}

/* May libunwind use @fd? Not if it was an end of the pipe, and the pipe does not exist any more. */
static bool may_use_fd(int fd)
{
	if (!walking || !probe.known || (fd != probe.ends[0] && fd != probe.ends[1]))
		return true;
	lost = lost || !is_probe(probe.ends[0]) || !is_probe(probe.ends[1]);
	return !lost;
}

/* Replaces read() for libunwind; returns EAGAIN, as for an empty pipe, if the pipe is lost. */
static ssize_t read_probe(int fd, void *to, size_t bytes)
{
	if (may_use_fd(fd))
		return read(fd, to, bytes);
	errno = EAGAIN;
	return -1;
}

/*
 * Replaces syscall() for libunwind; returns EFAULT, as for an unreadable address, if the pipe is
 * lost.
 */
static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	if (number != SYS_write || may_use_fd((int)a))
		return syscall(number, a, b, c, d, e, f);
	errno = EFAULT;
	return -1;
}

/*
 * Unwind. Returns -1 during a fork: then no thread may enter libunwind, since the child would not
 * notice it.
 */
static int unwind_frames(backtrace_fn *take, void **frames, int max)
{
	int n = -1;

	walking++;
	/* pairs with the load in libunwind_before_fork() */
	atomic_fetch_add(&walkers, 1);
	if (!forks_is_forking()) {
		VALGRIND_DISABLE_ERROR_REPORTING; /* words on a stack may be uninitialized */
		n = take(frames, max);
		VALGRIND_ENABLE_ERROR_REPORTING;
	}
	atomic_fetch_sub(&walkers, 1);
	walking--;
	return n;
}

int libunwind_unwind(void **frames, int max)
{
	/* pairs with the store in libunwind_test() */
	backtrace_fn *take = atomic_load_explicit(&usable, memory_order_acquire);

	int n;

	if (!take || !warm)
		return -1;
	lost = false;
	n = unwind_frames(take, frames, max);
	return lost ? -1 : n;
}

void libunwind_warm_up(void)
{
	backtrace_fn *take = atomic_load_explicit(&usable, memory_order_acquire);
	void *frame;

	if (!take || warm)
		return;
	warm = unwind_frames(take, &frame, 1) >= 0;
}

void libunwind_retire(void)
{
	atomic_store(&usable, NULL);
}

void libunwind_before_fork(void)
{
	shared = atomic_load(&walkers) > walking;
}

void libunwind_after_fork(void)
{
	atomic_store(&walkers, walking);
	if (shared)
		libunwind_retire();
}

/*
 * Replaces dl_iterate_phdr() for libunwind, which only searches for the file of one address. This
 * address is the first member of @arg, as libunwind_test() checks.
 */
static int iterate_modules(visit_fn *visit, void *arg)
{
	struct loaded_file found;

	if (!walking) /* not from our unwinding: the program uses libunwind, too */
		return dl_iterate_phdr(visit, arg);
	return locate_object(*(void **)arg, &found) ? visit(&found.info, sizeof(found.info), arg)
						    : 0;
}

/* Relocations, and the symbols to which they refer. */
struct relocations {
	const ElfW(Rela) *list;
	size_t bytes;
	const ElfW(Sym) *symbols;
	const char *names;
};

static struct relocations relocations_of(const struct link_map *map, ElfW(Sxword) tag,
					 ElfW(Sxword) size_tag)
{
	struct relocations r = { 0 };

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == tag)
			r.list = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == size_tag)
			r.bytes = d->d_un.d_val;
		else if (d->d_tag == DT_SYMTAB)
			r.symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			r.names = (const void *)d->d_un.d_ptr;
	}
	if (!r.list || !r.symbols || !r.names)
		r.bytes = 0;
	return r;
}

/* The pointer of @map to function @name of another library. */
static void *pointer_to(const struct link_map *map, const struct relocations *r, const char *name)
{
	for (size_t i = 0; i < r->bytes / sizeof(*r->list); i++) {
		const ElfW(Sym) *symbol = &r->symbols[ELF64_R_SYM(r->list[i].r_info)];

		if (symbol->st_name && !strcmp(r->names + symbol->st_name, name))
			return (void *)(map->l_addr + r->list[i].r_offset);
	}
	return NULL;
}

/* Is the pointer read-only? The loader makes some pointers read-only after it has set them. */
static bool is_sealed(const void *at)
{
	struct loaded_file found = { 0 };

	locate_object(at, &found);
	for (int i = 0; i < found.info.dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &found.info.dlpi_phdr[i];

		if (ph->p_type == PT_GNU_RELRO &&
		    (uintptr_t)at - found.info.dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

/* Replace @map's pointer to function @name. */
static bool redirect_pointer(const struct link_map *map, const char *name, any_fn *ours)
{
	struct relocations calls = relocations_of(map, DT_JMPREL, DT_PLTRELSZ);
	struct relocations data = relocations_of(map, DT_RELA, DT_RELASZ);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_Atomic(any_fn *) *at;
	void *start;
	bool sealed;

	at = pointer_to(map, &calls, name) ?: pointer_to(map, &data, name);
	start = (void *)((uintptr_t)at & -page);
	sealed = at && is_sealed(at);
	if (!at || (sealed && mprotect(start, page, PROT_READ | PROT_WRITE)))
		return false;
	atomic_store(at, ours);
	if (sealed)
		mprotect(start, page, PROT_READ);
	return true;
}

void libunwind_open(void)
{
	struct link_map *map;

	/*
	 * not under ThreadSanitizer: at the end of a thread libunwind frees its memory using
	 * mutexes, which ThreadSanitizer interposes although it does not know the thread any more
	 */
	if (dlsym(RTLD_DEFAULT, "__tsan_init"))
		return;
	map = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (map && redirect_pointer(map, "dl_iterate_phdr", (any_fn *)iterate_modules) &&
	    redirect_pointer(map, "read", (any_fn *)read_probe) &&
	    redirect_pointer(map, "syscall", (any_fn *)call_kernel))
		loaded = (backtrace_fn *)dlsym(map, "unw_backtrace");
}

/*
 * Find libunwind's pipe. The first unwinding creates it, with the same descriptors as a pipe that
 * is created and closed before.
 */
static bool find_probe(void)
{
	void *frame;

	if (pipe2(probe.ends, O_CLOEXEC))
		return false;
	syscall(SYS_close, probe.ends[0]); /* close() would be a cancellation point */
	syscall(SYS_close, probe.ends[1]);
	unwind_frames(loaded, &frame, 1);
	probe.known = !fstat(probe.ends[0], &probe.stat) && S_ISFIFO(probe.stat.st_mode) &&
		      is_probe(probe.ends[1]) && fcntl(probe.ends[0], F_GETFL) & O_NONBLOCK;
	return probe.known;
}

void libunwind_test(void *const *outer, int n)
{
	enum { DEEP = 16, ALIKE = 3 };
	void *frames[DEEP];
	int m, i = 0;

	if (!loaded || !n || !find_probe())
		return;
	m = unwind_frames(loaded, frames, DEEP);
	while (i < m && frames[i] != outer[0])
		i++;
	for (int j = 0; j < n && j < ALIKE; j++)
		if (i + j >= m || frames[i + j] != outer[j])
			return;
	warm = true;
	atomic_store_explicit(&usable, loaded, memory_order_release);
}

/*
 * libverbatim-memory.so: the functions with which a program releases memory
 *
 * Preloaded by `verbatim record --memory` beside the recorder. Each calls the next function of that
 * name, of libc or of another allocator, and reports to the recorder if registered memory is
 * released:
 *
 *	munmap, mremap, mmap over it, madvise	after they succeeded
 *	realloc					after it has moved the memory
 *	free					before the call: afterwards the size is not known
 *	mmap of huge pages			always: registering them is reported
 *
 * free() and realloc() are reported only if the released block contains a whole region: a program
 * may register its whole heap, and then free blocks in it.
 *
 * Not reported: system calls that libc makes itself, as free() does for large blocks, and system
 * calls that the program makes by syscall(2).
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shim/trace/memory.h"

#define OURS __attribute__((visibility("default")))

#pragma weak verbatim_memory_holds
#pragma weak verbatim_memory_gone
#pragma weak verbatim_memory_mapped

#define FUNCTIONS(F) \
	F(mmap) F(mmap64) F(munmap) F(mremap) F(madvise) F(free) F(realloc) F(malloc_usable_size)

enum next_function {
#define F(name) NEXT_##name,
	FUNCTIONS(F)
#undef F
		NEXT_COUNT,
};

static _Atomic(void *) found[NEXT_COUNT];
static __thread bool looking __attribute__((tls_model("initial-exec")));

/*
 * Look up the next function. dlsym() may allocate and free memory, and so call this function again.
 */
static void *look_up_function(enum next_function function)
{
	static const char *const names[NEXT_COUNT] = {
#define F(name) #name,
		FUNCTIONS(F)
#undef F
	};
	void *at;

	if (looking)
		return NULL;
	looking = true;
	at = dlsym(RTLD_NEXT, names[function]);
	looking = false;
	atomic_store_explicit(&found[function], at, memory_order_relaxed);
	return at;
}

static void *find_next(enum next_function function)
{
	void *at = atomic_load_explicit(&found[function], memory_order_relaxed);

	return at ? at : look_up_function(function);
}

#define NEXT(name) ((typeof(&name))find_next(NEXT_##name))

__attribute__((constructor)) static void find_all(void)
{
	for (int i = 0; i < NEXT_COUNT; i++)
		find_next((enum next_function)i);
}

static bool is_registered(const void *addr, size_t length, bool whole)
{
	return verbatim_memory_holds && verbatim_memory_holds(addr, length, whole);
}

static void report_freed_range(enum event_memory_what what, const void *addr, size_t length)
{
	if (is_registered(addr, length, false))
		verbatim_memory_gone(what, addr, length);
}

static void report_mapping(const void *at, size_t length, int flags)
{
	if (at == MAP_FAILED || !verbatim_memory_mapped)
		return;
	if (flags & MAP_FIXED)
		report_freed_range(MEMORY_MMAP, at, length);
	if (flags & (MAP_FIXED | MAP_HUGETLB))
		verbatim_memory_mapped(at, length, flags & MAP_HUGETLB);
}

OURS void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *at = NEXT(mmap)(addr, length, prot, flags, fd, offset);

	report_mapping(at, length, flags);
	return at;
}

OURS void *mmap64(void *addr, size_t length, int prot, int flags, int fd, off64_t offset)
{
	void *at = NEXT(mmap64)(addr, length, prot, flags, fd, offset);

	report_mapping(at, length, flags);
	return at;
}

OURS int munmap(void *addr, size_t length)
{
	int ret = NEXT(munmap)(addr, length);

	if (!ret)
		report_freed_range(MEMORY_MUNMAP, addr, length);
	if (!ret && verbatim_memory_mapped)
		verbatim_memory_mapped(addr, length, false);
	return ret;
}

OURS void *mremap(void *old, size_t old_size, size_t new_size, int flags, ...)
{
	void *wanted = NULL, *at;
	va_list more;

	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		wanted = va_arg(more, void *);
		va_end(more);
	}
	at = NEXT(mremap)(old, old_size, new_size, flags, wanted);
	if (at == MAP_FAILED || !old_size)
		return at;
	if (at != old)
		report_freed_range(MEMORY_MREMAP, old, old_size);
	else if (new_size < old_size)
		report_freed_range(MEMORY_MREMAP, (char *)old + new_size, old_size - new_size);
	return at;
}

OURS int madvise(void *addr, size_t length, int advice)
{
	int ret = NEXT(madvise)(addr, length, advice);

	if (!ret && (advice == MADV_DONTNEED || advice == MADV_REMOVE))
		report_freed_range(MEMORY_MADVISE, addr, length);
	return ret;
}

static size_t size_of(void *block)
{
	return block && NEXT(malloc_usable_size) ? NEXT(malloc_usable_size)(block) : 0;
}

OURS void free(void *block)
{
	void (*next)(void *) = NEXT(free);
	size_t size;

	if (!next)
		return; /* dlsym() has allocated it: a small block, which is never freed */
	size = size_of(block);
	if (is_registered(block, size, true))
		verbatim_memory_gone(MEMORY_FREE, block, size);
	next(block);
}

OURS void *realloc(void *block, size_t size)
{
	void *(*next)(void *, size_t) = NEXT(realloc), *at;
	size_t before;

	if (!next) {
		errno = ENOMEM;
		return NULL;
	}
	before = size_of(block);
	at = next(block, size);
	if ((at ? at != block : !size) && is_registered(block, before, true))
		verbatim_memory_gone(MEMORY_REALLOC, block, before);
	return at;
}

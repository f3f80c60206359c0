#pragma once
/*
 * libc's own versions of interposed functions: NEXT(posix_spawn)(...). Any thread.
 */
#include <stdatomic.h>
#include <stddef.h>

/* Marks an exported function that interposes one of libc. */
#define OURS __attribute__((visibility("default")))

/* clang-format off */
#define LIBC_FUNCTIONS(F) \
	F(fork) F(_Fork) F(clone) F(vfork) F(posix_spawn) F(posix_spawnp) F(system) \
	F(popen) F(execve) F(execv) F(execvp) F(execvpe) F(fexecve) F(execveat) \
	F(_exit) F(_Exit) F(quick_exit) F(dlclose) F(prctl) F(syscall) F(sigaction) \
	F(signal) F(setuid) F(seteuid) F(setreuid) F(setresuid)

enum libc_function {
#define F(name) LIBC_##name,
	LIBC_FUNCTIONS(F)
#undef F
	LIBC_COUNT,
};
/* clang-format on */

extern _Atomic(void *) libc_found[LIBC_COUNT];

/* The slow path of NEXT(): it takes the loader's lock. */
void *libc_find(enum libc_function function);

/* Find all functions, so that no later call has to take the loader's lock. */
void libc_find_all(void);

static inline void *libc_next(enum libc_function function)
{
	void *at = atomic_load_explicit(&libc_found[function], memory_order_relaxed);

	return at ? at : libc_find(function);
}

#define NEXT(name) ((typeof(&name))libc_next(LIBC_##name))

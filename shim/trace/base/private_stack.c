/*
 * Private stacks of the recorder
 *
 *	used      a bit for each entry: the thread that sets it owns the stack
 *	stacks    their addresses; allocated at the first use of an entry, never freed
 *
 * Each stack occupies some pages, so there is not one for each thread, but only as many as were
 * ever in use at the same time: a thread takes the lowest free entry.
 *
 * The switch between the stacks is a normal frame: with its unwind information below, unwinders
 * continue into the caller's stack.
 */
#include "shim/trace/base/private_stack.h"

#ifdef __x86_64__

#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/mman.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

enum {
	WORDS = 4,
	PLACES = 64 * WORDS,
	GUARD = 4096,
	/* large, since constructors of loaded libraries also run on such a stack */
	BYTES = 128 << 10,
};

static _Atomic uint64_t used[WORDS];
static _Atomic(char *) stacks[PLACES];

void aside_step(void (*fn)(void *arg), void *arg, void *top);

__asm__(".text\n"
	".type aside_step, @function\n"
	".hidden aside_step\n"
	".globl aside_step\n"
	"aside_step:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rdx, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size aside_step, . - aside_step\n");

/* Take a free entry; -1: all are in use. */
static int claim_stack(void)
{
	for (int w = 0; w < WORDS; w++) {
		uint64_t has = atomic_load_explicit(&used[w], memory_order_relaxed);

		while (~has) {
			uint64_t bit = ~has & (has + 1);

			/* pairs with the release in release_stack() */
			if (atomic_compare_exchange_weak_explicit(&used[w], &has, has | bit,
								  memory_order_acquire,
								  memory_order_relaxed))
				return 64 * w + __builtin_ctzll(bit);
		}
	}
	return -1;
}

static void release_stack(int place)
{
	atomic_fetch_and_explicit(&used[place / 64], ~(1ull << place % 64), memory_order_release);
}

/* The stack of an entry that the thread owns; NULL: out of memory. */
static char *stack_of(int place)
{
	char *at = atomic_load_explicit(&stacks[place], memory_order_relaxed);

	if (at)
		return at;
	at = mmap(NULL, GUARD + BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	mprotect(at, GUARD, PROT_NONE);
	atomic_store_explicit(&stacks[place], at, memory_order_relaxed);
	return at;
}

void private_stack_call(void (*fn)(void *arg), void *arg)
{
	/*
	 * no private stack under valgrind: drd aborts when the stack pointer moves to another stack
	 */
	int place = RUNNING_ON_VALGRIND ? -1 : claim_stack();
	char *at = place < 0 ? NULL : stack_of(place);

	if (at)
		aside_step(fn, arg, at + GUARD + BYTES);
	else
		fn(arg);
	if (place >= 0)
		release_stack(place);
}

/*
 * In a child: do not reuse stacks that were in use, since sanitizers would take their frames for
 * live ones.
 */
void private_stack_after_fork(void)
{
	for (int place = 0; place < PLACES; place++)
		if (atomic_load_explicit(&used[place / 64], memory_order_relaxed) >> place % 64 & 1)
			atomic_store_explicit(&stacks[place], NULL, memory_order_relaxed);
	for (int w = 0; w < WORDS; w++)
		atomic_store_explicit(&used[w], 0, memory_order_relaxed);
}

void private_stack_release(void)
{
	for (int place = 0; place < PLACES; place++) {
		char *at = atomic_load_explicit(&stacks[place], memory_order_relaxed);

		if (!at ||
		    atomic_load_explicit(&used[place / 64], memory_order_relaxed) >> place % 64 & 1)
			continue;
		atomic_store_explicit(&stacks[place], NULL, memory_order_relaxed);
		munmap(at, GUARD + BYTES);
	}
}

#else

void private_stack_release(void)
{
}

void private_stack_call(void (*fn)(void *arg), void *arg)
{
	fn(arg);
}

void private_stack_after_fork(void)
{
}

#endif

/*
 * Programs that restrict their own system calls
 *
 * A filter of system calls (seccomp(2)) may kill the program for a call of
 * ours, and there is no way to find out in advance: a call cannot be tried, a
 * filter cannot be read. So process_vm_readv(2), our only unusual call, is made
 * only where it is known to be allowed:
 *
 *	filters the program began with   the same number as the collector has,
 *	                                 which has tried it (cli/record/recording.c)
 *	filters it has installed since   we stand before prctl(2) and syscall(2),
 *	                                 and ask the filter as the kernel would
 *
 * All other calls of the recorder are calls that libc makes in any program.
 * Filters are only ever added. A filter of one thread counts for all threads:
 * which threads inherit it is not tracked.
 *
 * Not seen: a filter that is installed by a bare system call.
 */
#include "shim/trace/interpose/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/session.h"
#include "shim/trace/base/jump.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/ring/vfork.h"

enum { YIELDS = 10000 };

#ifdef __x86_64__
enum { ARCH = AUDIT_ARCH_X86_64 };
#else
enum { ARCH = AUDIT_ARCH_AARCH64 };
#endif

static atomic_uint forbidden; /* reasons not to make the call */
static atomic_uint inside;    /* threads that are making it */
static atomic_bool strange;   /* the filters it began with are one of them */
static atomic_bool asked;
static uint32_t inherited; /* filters that it began with, once asked */

bool sandbox_enter(void)
{
	/* pairs with those in close_door(): one of us sees the other */
	atomic_fetch_add(&inside, 1);
	if (!atomic_load(&forbidden))
		return true;
	atomic_fetch_sub(&inside, 1);
	return false;
}

void sandbox_leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

/* Called before the program's own first filter is installed. */
static void ask_inherited(void)
{
	if (atomic_load(&asked))
		return;
	inherited = session_filters();
	atomic_store(&asked, true);
}

void sandbox_begin(uint32_t known, bool child)
{
	if (child)
		atomic_store(&inside, 0);
	ask_inherited();
	if (inherited && inherited != known && !atomic_exchange(&strange, true))
		atomic_fetch_add(&forbidden, 1);
}

/* Load 32 bits of the call's description, as a filter sees it. */
static uint32_t load_word(const struct seccomp_data *call, uint32_t offset)
{
	return offset <= sizeof(*call) - 4 ? *(const uint32_t *)((const char *)call + offset) : 0;
}

/* clang-format off */
static uint32_t calculate_alu(unsigned int op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return a / b;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return a << (b & 31);
	case BPF_RSH: return a >> (b & 31);
	default: return -a; /* BPF_NEG */
	}
}

static bool is_jump_taken(unsigned int op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	default: return a & b; /* BPF_JSET */
	}
}
/* clang-format on */

uint32_t sandbox_answer(const struct sock_filter *code, unsigned int n,
			const struct seccomp_data *call)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = { 0 };

	for (unsigned int pc = 0; pc < n; pc++) {
		const struct sock_filter *i = &code[pc];
		uint32_t operand = BPF_SRC(i->code) == BPF_X ? x : i->k;
		uint32_t *cell = &memory[i->k % BPF_MEMWORDS], *to = &a;

		switch (BPF_CLASS(i->code)) {
		case BPF_LDX:
			to = &x;
			__attribute__((fallthrough));
		case BPF_LD:
			*to = BPF_MODE(i->code) == BPF_ABS   ? load_word(call, i->k)
			      : BPF_MODE(i->code) == BPF_MEM ? *cell
			      : BPF_MODE(i->code) == BPF_LEN ? sizeof(*call)
							     : i->k;
			break;
		case BPF_ST:
			*cell = a;
			break;
		case BPF_STX:
			*cell = x;
			break;
		case BPF_ALU:
			if (BPF_OP(i->code) == BPF_DIV && !operand)
				return SECCOMP_RET_KILL;
			a = calculate_alu(BPF_OP(i->code), a, operand);
			break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA                    ? i->k
			      : is_jump_taken(BPF_OP(i->code), a, operand) ? i->jt
									   : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? a : i->k;
		case BPF_MISC:
			*(BPF_MISCOP(i->code) == BPF_TAX ? &x : &a) =
				BPF_MISCOP(i->code) == BPF_TAX ? a : x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool filter_allows(const struct sock_fprog *filter)
{
	const struct seccomp_data call = { .nr = SYS_process_vm_readv,
					   .arch = ARCH,
					   .args = { (uint64_t)getpid(), 0, 1, 0, 1, 0 } };

	return sandbox_answer(filter->filter, filter->len, &call) == SECCOMP_RET_ALLOW;
}

/*
 * From here on no thread makes the call. A thread that a signal handler, or a
 * longjmp() out of one, keeps away is not waited for.
 */
static void close_door(void)
{
	ask_inherited();
	/* pairs with those in sandbox_enter() */
	atomic_fetch_add(&forbidden, 1);
	for (int i = 0; atomic_load(&inside) && i < YIELDS; i++)
		sched_yield();
}

/* @filter may be read once the kernel has accepted it; NULL: strict mode, all is forbidden. */
static void open_door(bool installed, const struct sock_fprog *filter)
{
	int saved = errno;

	if (!installed || (filter && filter_allows(filter)))
		atomic_fetch_sub(&forbidden, 1);
	errno = saved;
}

OURS int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	bool installs = option == PR_SET_SECCOMP && !vfork_is_child();
	va_list more;
	int ret;

	va_start(more, option);
	a = va_arg(more, unsigned long);
	b = va_arg(more, unsigned long);
	c = va_arg(more, unsigned long);
	d = va_arg(more, unsigned long);
	va_end(more);
	if (installs)
		close_door();
	ret = NEXT(prctl)(option, a, b, c, d);
	if (installs)
		open_door(!ret, a == SECCOMP_MODE_FILTER ? (const void *)b : NULL);
	return ret;
}

#ifdef __x86_64__

static long install_filter(long number, unsigned long operation, unsigned long flags,
			   const struct sock_fprog *filter)
{
	long ret;

	if (vfork_is_child())
		return NEXT(syscall)(number, operation, flags, filter);
	close_door();
	ret = NEXT(syscall)(number, operation, flags, filter);
	/* a positive result is a listener, or the thread that failed to follow */
	open_door(!ret || (ret > 0 && flags & SECCOMP_FILTER_FLAG_NEW_LISTENER),
		  operation == SECCOMP_SET_MODE_FILTER ? filter : NULL);
	return ret;
}

static long call_prctl(long number, unsigned long option, unsigned long a, unsigned long b,
		       unsigned long c, unsigned long d)
{
	(void)number;
	return prctl((int)option, a, b, c, d);
}

void *sandbox_syscall(long number, unsigned long first);

/* Where the call goes on. */
void *sandbox_syscall(long number, unsigned long first)
{
	if (number == SYS_seccomp && first <= SECCOMP_SET_MODE_FILTER)
		return (void *)install_filter;
	if (number == SYS_prctl && first == PR_SET_SECCOMP)
		return (void *)call_prctl;
	return (void *)NEXT(syscall);
}

JUMP_FUNCTION(syscall, "", sandbox_syscall, JUMP_THERE);

#endif

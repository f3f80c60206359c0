/*
 * Programs that restrict their own system calls
 *
 * A filter of system calls (seccomp(2)) may kill the program because of a call that the recorder
 * makes. This cannot be found out by trying the call, or by reading an installed filter. So
 * prctl(2) and syscall(2) are interposed, and a filter that the program installs is evaluated in
 * the same way as by the kernel, for each call that the recorder may make (sandbox_calls). From
 * then on, work that needs a forbidden call is not done (shim/trace/base/permit.h), and the trace
 * reports that.
 *
 * A filter that a thread installs applies to this thread, and possibly to threads without a ring,
 * which it may have created; with SECCOMP_FILTER_FLAG_TSYNC it applies to all threads.
 *
 * If a filter only makes a call fail (SECCOMP_RET_ERRNO), this matters only for calls whose failure
 * the recorder cannot handle; other calls may also fail without a filter.
 *
 * process_vm_readv(2), the only unusual call, is made only if it is known to be allowed:
 *
 *	filters the program began with   the collector has the same number of
 *	                                 filters and has tried it (recording.c)
 *	filters it has installed since   evaluated like all others; a filter
 *	                                 of one thread counts for all threads
 *
 * Filters can only be added.
 *
 * Not noticed: a filter that is installed by a bare system call. Filters with which the program
 * began are assumed to allow the calls that libc makes in any program.
 */
#include "shim/trace/interpose/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/session.h"
#include "shim/trace/base/jump.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/vfork.h"

enum { YIELDS = 10000 };

#ifdef __x86_64__
enum { ARCH = AUDIT_ARCH_X86_64 };
#else
enum { ARCH = AUDIT_ARCH_AARCH64 };
#endif

/* Needs of creating a ring; of unwinding a stack; of a dlopen() by the recorder. */
#define RING                   NEED_RING
#define ROOM                   (NEED_ROOM | NEED_RING)
#define STACK                  (NEED_STACK | NEED_RING)
#define LOAD                   (NEED_LOAD | NEED_RING)
#define CALL(name, needs, ...) { SYS_##name, #name, needs, { __VA_ARGS__ } },
#define ANONYMOUS              MAP_PRIVATE | MAP_ANONYMOUS
#define WRITABLE               PROT_READ | PROT_WRITE
#define NO_FD                  (uint64_t) - 1

/* clang-format off */
const struct sandbox_call sandbox_calls[] = {
	CALL(rt_sigprocmask, NEED_QUIET, SIG_BLOCK, 1, 1, 8)
	CALL(rt_sigprocmask, NEED_QUIET, SIG_SETMASK, 1, 0, 8)
	CALL(sigaltstack, NEED_STACK, 0, 1)
	CALL(nanosleep, NEED_PAUSE | NEED_FORK | NEED_STOP, 1)
	CALL(sched_yield, NEED_YIELD)
	CALL(futex, NEED_WAKE | NEED_STOP, 1, FUTEX_WAKE, 1)
	CALL(futex, RING | NEED_PATCH, 1, FUTEX_WAKE_PRIVATE, 1)
	CALL(futex, NEED_PATCH, 1, FUTEX_WAKE_OP_PRIVATE)
	CALL(kill, NEED_LOOK, 1, 0)
	CALL(openat, NEED_LOOK | NEED_DEVICE | LOAD | STACK, AT_FDCWD, 1, O_RDONLY | O_CLOEXEC)
	CALL(openat, ROOM | NEED_END, 3, 1, O_RDWR | O_CLOEXEC)
	CALL(openat, RING, 3, 1, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
	CALL(read, NEED_LOOK | NEED_DEVICE | LOAD | STACK, 3, 1, 64)
	CALL(pread64, LOAD, 3, 1, 64)
	CALL(write, NEED_DEVICE | STACK, 3, 1, 1)
	CALL(ioctl, NEED_DEVICE, 3)
	CALL(close, NEED_LOOK | NEED_DEVICE | LOAD | ROOM | STACK | NEED_END, 3)
	CALL(fstat, LOAD | ROOM | STACK | NEED_END, 3, 1)
	CALL(newfstatat, LOAD | ROOM | STACK | NEED_END, 3, 1, 1, AT_EMPTY_PATH)
	CALL(statfs, RING, 1, 1)
	CALL(linkat, RING, 3, 1, 3, 1, 0)
	CALL(getuid, RING)
	CALL(sysinfo, RING, 1)
	CALL(clock_nanosleep, RING, 0, 0, 1)
	CALL(mincore, STACK, 4096, 4096, 1)
	CALL(fcntl, RING | STACK | NEED_FORK, 3, F_GETFD)
	CALL(ftruncate, ROOM | NEED_END, 3, 4096)
	CALL(fallocate, ROOM, 3, 0, 0, 4096)
	CALL(prlimit64, ROOM, 0, RLIMIT_FSIZE, 0, 1)
	CALL(brk, RING | NEED_MEMORY, 0)
	CALL(mmap, RING | STACK | NEED_MEMORY | LOAD, 0, 4096, WRITABLE, ANONYMOUS, NO_FD)
	CALL(mmap, ROOM, 4096, 4096, WRITABLE, MAP_SHARED | MAP_FIXED, 3)
	CALL(mmap, LOAD, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3)
	CALL(munmap, ROOM | NEED_END | LOAD, 4096, 4096)
	CALL(mprotect, STACK | LOAD | NEED_PATCH, 4096, 4096, PROT_READ)
	CALL(mremap, ROOM | NEED_MEMORY, 4096, 4096, 8192, MREMAP_MAYMOVE)
	CALL(madvise, ROOM, 4096, 4096, MADV_REMOVE)
	CALL(madvise, ROOM, 4096, 4096, MADV_POPULATE_WRITE)
	CALL(madvise, RING, 4096, 4096, MADV_WIPEONFORK)
	CALL(pipe2, RING, 1, O_CLOEXEC)
	CALL(getpid, NEED_IDS | RING | NEED_STOP)
	CALL(gettid, NEED_IDS | RING | NEED_STOP)
	CALL(geteuid, NEED_IDS | ROOM | NEED_END)
	CALL(getppid, RING)
	CALL(prctl, RING, PR_GET_NAME, 1)
	CALL(rt_sigaction, RING, SIGBUS, 1, 1, 8)
	CALL(clock_gettime, NEED_FORK, 6)
	CALL(tgkill, NEED_STOP, 1, 1, SIGSTOP)
#ifdef SYS_readlink
	CALL(readlink, STACK, 1, 1, 64)
#else
	CALL(readlinkat, STACK, AT_FDCWD, 1, 1, 64)
#endif
#ifdef SYS_access
	CALL(access, LOAD, 1)
#endif
};
/* clang-format on */
const size_t sandbox_ncalls = sizeof(sandbox_calls) / sizeof(*sandbox_calls);

/*
 * Needs that are denied even if the calls only fail: otherwise a signal handler could interrupt the
 * recorder, or a thread would wait without sleeping.
 */
enum { FAILURE_MATTERS = NEED_QUIET | NEED_PAUSE };

static atomic_uint forbidden; /* number of reasons not to make the call */
static atomic_uint inside;    /* number of threads that are making the call */
static atomic_bool strange;   /* one reason: filters with which the program began */
static atomic_bool asked;
static uint32_t inherited; /* number of filters with which the program began, once known */

bool sandbox_enter(void)
{
	/* pairs with those in block_reading(): at least one thread sees the other's store */
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

/* Called before the program installs its first own filter. */
static void read_inherited(void)
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
	read_inherited();
	if (inherited && inherited != known && !atomic_exchange(&strange, true))
		atomic_fetch_add(&forbidden, 1);
}

/* Load 32 bits of the call's description, as a filter does. */
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

uint32_t sandbox_evaluate(const struct sock_filter *code, unsigned int n,
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

static uint32_t evaluate_filter(const struct sock_fprog *filter, int number, const uint64_t args[6])
{
	struct seccomp_data call = { .nr = number, .arch = ARCH };

	for (int i = 0; i < 6; i++)
		call.args[i] = args[i];
	return sandbox_evaluate(filter->filter, filter->len, &call) & SECCOMP_RET_ACTION_FULL;
}

/* The needs that @filter denies. */
static uint32_t find_denied_needs(const struct sock_fprog *filter)
{
	uint32_t denied = 0;

	for (size_t i = 0; i < sandbox_ncalls; i++) {
		const struct sandbox_call *call = &sandbox_calls[i];
		uint32_t answer = evaluate_filter(filter, call->number, call->args);

		if (answer == SECCOMP_RET_ERRNO)
			denied |= call->needs & FAILURE_MATTERS;
		else if (answer != SECCOMP_RET_ALLOW && answer != SECCOMP_RET_LOG)
			denied |= call->needs;
	}
	return denied;
}

static bool filter_allows_reading(const struct sock_fprog *filter, pid_t me)
{
	const uint64_t args[6] = { (uint64_t)me, 0, 1, 0, 1, 0 };

	return evaluate_filter(filter, SYS_process_vm_readv, args) == SECCOMP_RET_ALLOW;
}

/*
 * From now on no thread calls process_vm_readv(2). The wait for threads that are calling it is
 * limited: a signal handler may delay such a thread, or leave the call by longjmp().
 */
static void block_reading(bool all)
{
	read_inherited();
	/* pairs with those in sandbox_enter() */
	atomic_fetch_add(&forbidden, 1);
	for (int i = 0; atomic_load(&inside) && i < YIELDS; i++)
		permit_sched_yield();
	permit_before_filter(all);
}

/*
 * The program's filter was installed or refused. @filter may be read only after the kernel has
 * accepted it; NULL: strict mode, where everything is forbidden.
 */
static void unblock_reading(bool all, bool installed, const struct sock_fprog *filter)
{
	int saved = errno;

	permit_filter_installed(all, !installed ? 0
				     : filter   ? find_denied_needs(filter)
						: NEED_ALL);
	if (!installed || (filter && filter_allows_reading(filter, permit_getpid())))
		atomic_fetch_sub(&forbidden, 1);
	sandbox_report();
	errno = saved;
}

void sandbox_report(void)
{
	static _Atomic uint32_t reported;
	uint32_t denied = permit_all_denied();

	if (recorder.generation == recording_generation() && recording_is_on() &&
	    (denied & ~atomic_fetch_or(&reported, denied)))
		record_report_blind(BLIND_SANDBOX, (void *)(uintptr_t)denied);
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
		block_reading(false);
	ret = NEXT(prctl)(option, a, b, c, d);
	if (installs)
		unblock_reading(false, !ret, a == SECCOMP_MODE_FILTER ? (const void *)b : NULL);
	return ret;
}

#ifdef __x86_64__

static long install_filter(long number, unsigned long operation, unsigned long flags,
			   const struct sock_fprog *filter)
{
	const bool all = operation == SECCOMP_SET_MODE_FILTER && flags & SECCOMP_FILTER_FLAG_TSYNC;
	long ret;

	if (vfork_is_child())
		return NEXT(syscall)(number, operation, flags, filter);
	block_reading(all);
	ret = NEXT(syscall)(number, operation, flags, filter);
	/* a positive result is a listener, or the thread that could not be synchronized */
	unblock_reading(all, !ret || (ret > 0 && flags & SECCOMP_FILTER_FLAG_NEW_LISTENER),
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

/* Returns the address at which syscall(2) continues. */
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

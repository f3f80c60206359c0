/*
 * Borrows a thread, by ptrace, as the kernel does for a signal handler
 *
 *	PTRACE_SEIZE, PTRACE_INTERRUPT    it stops; its stack is unwound, and it may be borrowed
 *					  (safe_point.c), or it is led out of where it may not
 *	write below its stack             a signal frame: all registers, their vectors, the mask of
 *					  signals; behind it the arguments
 *	PTRACE_SETREGS                    the function is called. It returns to the code that
 *					  returns from handlers, and the kernel restores all from
 *					  the frame
 *	PTRACE_SETSIGMASK                 no handler interrupts it
 *	PTRACE_SYSCALL ...                until that return from the handler: it is where it was
 *	PTRACE_DETACH
 *
 * No data or code of the program is overwritten. The only change is that of all registers, at one
 * instant: before it nothing has happened, and after it the thread needs no tracer to return. So
 * this process may be killed at any time.
 *
 * A system call in which the thread slept is restarted, as with SA_RESTART. Its time limit, if any,
 * is restarted, too, so threads in such calls are borrowed last.
 */
#include "cli/attach/inject.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/memory.h"
#include "cli/attach/safe_point.h"
#include "cli/attach/stop.h"
#include "cli/attach/target.h"
#include "core/base/proc_stat.h"
#include "core/wire/clock.h"

#ifdef __x86_64__

#include <cpuid.h>

#define MS          1000000ull
#define SEARCH_TIME (3000 * MS)
#define PATIENCE    (10000 * MS) /* for a call; on a busy machine the loader is slow */
#define LEAVE       (300 * MS)

enum {
	XSTATE_MAX = 16 << 10,
	REDZONE = 128,
	STACK = 96 << 10, /* bytes of the stack that a call needs */
	DATA_MAX = 4096,
	PAUSE_NS = 2000000,
	TRAP_CALL = SIGTRAP | 0x80, /* PTRACE_O_TRACESYSGOOD */
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

/* The kernel's struct sigcontext, struct ucontext and struct rt_sigframe. */
struct signal_frame {
	uint64_t restorer;
	uint64_t flags, link;
	uint64_t stack, stack_flags, stack_size;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, oldmask, cr2, xstate, reserved[8];
	uint64_t mask;
	uint8_t info[128];
};

enum { UC_FP_XSTATE = 1, UC_SIGCONTEXT_SS = 2, UC_STRICT_RESTORE_SS = 4, STACK_INVALID = 0x40 };

/* The words at the end of the first 512 bytes of the vector state, and those behind all of it. */
struct xstate_words {
	uint32_t magic, extended;
	uint64_t features;
	uint32_t size, pad[7];
};

enum { XSTATE_WORDS = 464, XSTATE_HEADER = 512, XSTATE_MIN = 576 };
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u

struct inject {
	struct inject_process in;
	pid_t tid;
	int priority;                 /* of this process, before */
	struct user_regs_struct regs; /* registers to which the thread returns */
};

/* Waiting for stops */

/*
 * Wait for the next stop of the thread, in *@ret_status. False: it has ended, or @until has passed.
 */
static bool await_stop(const struct inject *inject, uint64_t until, int *ret_status)
{
	static const struct timespec pause = { 0, 20000 };
	pid_t got;

	for (int i = 0;; i++) {
		got = waitpid(inject->tid, ret_status, __WALL | WNOHANG);
		if (got == inject->tid)
			return WIFSTOPPED(*ret_status);
		if (got < 0 || clock_monotonic() > until)
			return false;
		if (i < 50)
			sched_yield();
		else
			nanosleep(&pause, NULL);
		if (inject->in.idle && i % 50 == 49)
			inject->in.idle(inject->in.of);
	}
}

static int signal_of(int status)
{
	return status >> 16 || WSTOPSIG(status) == TRAP_CALL || WSTOPSIG(status) == SIGTRAP
		       ? 0
		       : WSTOPSIG(status);
}

static void detach_thread(const struct inject *inject, int signal)
{
	ptrace(PTRACE_DETACH, inject->tid, 0, (void *)(uintptr_t)signal);
}

/* Where the thread is stopped */

static bool is_call_restarted(const struct user_regs_struct *r)
{
	long result = (long)r->rax;

	return (long)r->orig_rax >= 0 &&
	       (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
		result == -ERESTART_RESTARTBLOCK);
}

/*
 * Find the number of a system call that an earlier stop has interrupted. The kernel no longer
 * reports it, but the code before the call has it: mov $number, %eax; syscall. False: other code.
 */
static bool find_number(struct inject *inject)
{
	const struct memory *memory = inject->in.memory;
	uint8_t code[7];
	uint32_t number;

	if (!memory_get(memory, inject->regs.rip - sizeof(code), code, sizeof(code)) ||
	    code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return false;
	memcpy(&number, code + 1, sizeof(number));
	inject->regs.orig_rax = number;
	return true;
}

/*
 * Set the registers so that the thread restarts its system call, if any, when it continues. False:
 * not possible.
 */
static bool prepare_registers(struct inject *inject, bool visible)
{
	struct user_regs_struct *r = &inject->regs;
	bool again = is_call_restarted(r) ||
		     ((long)r->orig_rax >= 0 && visible && (long)r->rax == -EINTR);

	if (again && r->orig_rax == SYS_restart_syscall && !find_number(inject))
		return false;
	if (again) {
		r->rax = r->orig_rax;
		r->rip -= 2;
	}
	r->orig_rax = (unsigned long long)-1;
	return true;
}

static bool read_registers(struct inject *inject)
{
	return !ptrace(PTRACE_GETREGS, inject->tid, 0, &inject->regs);
}

/* Unwind the stopped thread, and check whether it may be borrowed. */
static const char *find_stack_problem(const struct inject *inject, bool asleep)
{
	const struct target_map *map = target_map_at(inject->in.process, inject->regs.rsp);
	struct stop stop = { .tid = inject->tid };
	struct unwind_stack *stack = NULL;
	const char *why = "its stack is too small", *ignored;
	uint64_t arguments[6];
	long number;

	stop_fill_registers(&stop, &inject->regs, &number, arguments);
	if (!map || (strcmp(map->path, "[stack]") != 0 && stop.sp - map->start < STACK))
		return why;
	stop.nstack = map->end - stop.sp < STOP_STACK ? map->end - stop.sp : STOP_STACK;
	stop.stack = malloc(stop.nstack);
	if (stop.stack)
		stop.nstack =
			memory_read_process(inject->in.memory, stop.sp, stop.stack, stop.nstack);
	if (stop.stack && !unwind_all(inject->in.memory, inject->in.process->pid, &stop, 1,
				      inject->in.modules, inject->in.nmodules, &stack, &ignored))
		why = safe_point_check(stack, asleep);
	free(stack);
	free(stop.stack);
	return why;
}

/* Is the thread in a critical section of rseq(2), which the kernel would abort for a handler? */
static bool is_in_rseq(const struct inject *inject)
{
#ifdef PTRACE_GET_RSEQ_CONFIGURATION
	struct __ptrace_rseq_configuration rseq;
	uint64_t section = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, inject->tid, sizeof(rseq), &rseq) <= 0 ||
	    !rseq.rseq_abi_pointer)
		return false;
	memory_get(inject->in.memory, rseq.rseq_abi_pointer + 8, &section, sizeof(section));
	return section != 0;
#else
	(void)inject;
	return false;
#endif
}

static bool is_in_library(const struct inject *inject)
{
	const struct target_map *map = target_map_at(inject->in.process, inject->regs.rip);
	const char *last = map ? strrchr(map->path, '/') : NULL;

	return last && safe_point_has_locks(last + 1);
}

/*
 * A thread that polls is nearly always in a verb, or in a function of the C library called by it:
 * stop the thread again and again, until it is elsewhere. Not step by step, nor with a breakpoint:
 * both would outlive this process. False: the thread has ended, or got a signal and continues.
 */
static bool leave_library(struct inject *inject, bool visible)
{
	const uint64_t until = clock_monotonic() + LEAVE;
	int status;

	for (int i = 0; is_in_library(inject) && !is_call_restarted(&inject->regs) && !visible &&
			clock_monotonic() < until;
	     i++) {
		uint64_t run = clock_monotonic() + 1000ull * (unsigned int)(i * 7 % 50);

		if (ptrace(PTRACE_CONT, inject->tid, 0, 0))
			return false;
		while (clock_monotonic() < run)
			;
		if (ptrace(PTRACE_INTERRUPT, inject->tid, 0, 0) ||
		    !await_stop(inject, clock_monotonic() + PATIENCE, &status))
			return false;
		if (status >> 16 != PTRACE_EVENT_STOP) {
			detach_thread(inject, signal_of(status));
			return false;
		}
		if (!read_registers(inject))
			return false;
	}
	return true;
}

enum try_outcome { GONE, NOT_HERE, BORROWED };

/* Try the stopped thread. */
static enum try_outcome try_stopped_thread(struct inject *inject, bool visible,
					   const char **ret_why)
{
	bool asleep;

	*ret_why = "it is in a verb";
	if (!read_registers(inject) || !leave_library(inject, visible))
		return GONE;
	asleep = is_call_restarted(&inject->regs) || visible;
	if (asleep || !is_in_library(inject))
		*ret_why = find_stack_problem(inject, asleep);
	if (!*ret_why && is_in_rseq(inject))
		*ret_why = "it is in a restartable sequence";
	if (!prepare_registers(inject, visible) && !*ret_why)
		*ret_why = "it is in a system call that cannot be restarted";
	return *ret_why ? NOT_HERE : BORROWED;
}

/* Let the thread continue. If its system call would fail with EINTR, the call is restarted. */
static void resume_thread(struct inject *inject, bool visible)
{
	struct user_regs_struct now;

	if (visible && !ptrace(PTRACE_GETREGS, inject->tid, 0, &now) && (long)now.rax == -EINTR &&
	    (long)now.orig_rax >= 0)
		ptrace(PTRACE_SETREGS, inject->tid, 0, &inject->regs);
	detach_thread(inject, 0);
}

static enum try_outcome try_thread(struct inject *inject, const struct target_thread *thread,
				   const char **ret_why)
{
	const struct target *process = inject->in.process;
	bool visible = thread->syscall >= 0 &&
		       stop_is_visible(process, thread->syscall, thread->arguments);
	enum try_outcome tried;
	int status;

	inject->tid = thread->tid;
	*ret_why = "it is exiting, or may not be traced";
	if (ptrace(PTRACE_SEIZE, thread->tid, 0, PTRACE_O_TRACESYSGOOD))
		return GONE;
	ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	if (!await_stop(inject, clock_monotonic() + PATIENCE, &status)) {
		*ret_why = "it does not stop";
		return GONE; /* the thread continues when this process ends */
	}
	if (status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP) {
		*ret_why = "it gets a signal";
		detach_thread(inject, signal_of(status));
		return NOT_HERE;
	}
	tried = try_stopped_thread(inject, visible, ret_why);
	if (tried != BORROWED)
		resume_thread(inject, visible);
	return tried;
}

/* Does the thread's system call have a time limit, or would the program see it interrupted? */
static bool is_second_choice(const struct target *process, const struct target_thread *thread)
{
	if (thread->syscall < 0)
		return false;
	return stop_is_visible(process, thread->syscall, thread->arguments) ||
	       thread->syscall == SYS_nanosleep || thread->syscall == SYS_clock_nanosleep ||
	       ((thread->syscall == SYS_poll || thread->syscall == SYS_epoll_wait) &&
		(int)thread->arguments[thread->syscall == SYS_poll ? 2 : 3] >= 0);
}

/* Update what the thread does: the table was read a while ago. */
static void refresh_thread(const struct target *process, struct target_thread *thread)
{
	struct target_thread now = *thread;

	if (target_read_call(process->pid, &now))
		*thread = now;
	else
		thread->state = 0;
}

int inject_begin(const struct inject_process *in, struct inject **ret_inject, const char **ret_why)
{
	static const struct timespec pause = { 0, PAUSE_NS };
	const uint64_t begun = clock_monotonic();
	const int priority = getpriority(PRIO_PROCESS, 0);
	struct inject *inject = calloc(1, sizeof(*inject));
	bool alive = true;

	if (!inject)
		return -ENOMEM;
	inject->in = *in;
	inject->priority = priority;
	setpriority(PRIO_PROCESS, 0, -20); /* a thread is stopped meanwhile; only root may */
	*ret_why = "it has no thread";
	while (alive && clock_monotonic() - begun < SEARCH_TIME) {
		bool any = clock_monotonic() - begun > SEARCH_TIME / 4;

		alive = false;
		for (size_t i = 0; i < in->process->nthreads; i++) {
			struct target_thread *thread = &in->process->threads[i];

			refresh_thread(in->process, thread);
			if (!thread->state || strchr("ZX", thread->state))
				continue;
			alive = true;
			if (strchr("DTt", thread->state))
				continue;
			if (!any && is_second_choice(in->process, thread))
				continue;
			if (try_thread(inject, thread, ret_why) == BORROWED) {
				*ret_inject = inject;
				return 0;
			}
		}
		nanosleep(&pause, NULL);
	}
	setpriority(PRIO_PROCESS, 0, priority);
	free(inject);
	return alive ? -EAGAIN : -ESRCH;
}

/* Calls */

/* The size of the vector state in use, without the part that a thread must request (AMX). */
static size_t size_vectors(uint64_t used)
{
	unsigned int size, offset, c, d;
	size_t end = XSTATE_MIN;

	for (unsigned int i = 2; i < 63; i++) {
		if (!(used >> i & 1) || !__get_cpuid_count(0xd, i, &size, &offset, &c, &d))
			continue;
		if (!(c & 1) && offset + size > end)
			end = offset + size;
	}
	return end;
}

/* Copy the thread's vector registers in the format of a signal frame. 0: they could not be read. */
static size_t copy_vectors(const struct inject *inject, uint8_t to[XSTATE_MAX])
{
	const uint32_t magic = XSTATE_MAGIC2;
	struct iovec io = { to, XSTATE_MAX - 8 }; /* a multiple of 8 */
	struct xstate_words words = { .magic = XSTATE_MAGIC1 };
	uint64_t used, all;
	size_t n;

	if (ptrace(PTRACE_GETREGSET, inject->tid, (void *)NT_X86_XSTATE, &io) ||
	    io.iov_len < XSTATE_MIN)
		return 0;
	memcpy(&all, to + XSTATE_WORDS, sizeof(all));
	memcpy(&used, to + XSTATE_HEADER, sizeof(used));
	n = size_vectors(all & ~(3ull << 17 & ~used));
	if (n > io.iov_len)
		n = io.iov_len;
	words.features = all & ~(3ull << 17 & ~used);
	words.size = (uint32_t)n;
	words.extended = (uint32_t)(n + sizeof(magic));
	memcpy(to + XSTATE_WORDS, &words, sizeof(words));
	memcpy(to + n, &magic, sizeof(magic));
	return n + sizeof(magic);
}

static struct signal_frame make_frame(const struct user_regs_struct *r, uint64_t restorer,
				      uint64_t xstate, uint64_t mask)
{
	return (struct signal_frame){
		.restorer = restorer,
		.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
		.stack_flags = STACK_INVALID, /* the alternate stack stays as it is */
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.di = r->rdi,
		.si = r->rsi,
		.bp = r->rbp,
		.bx = r->rbx,
		.dx = r->rdx,
		.ax = r->rax,
		.cx = r->rcx,
		.sp = r->rsp,
		.ip = r->rip,
		.eflags = r->eflags,
		.cs = (uint16_t)r->cs,
		.ss = (uint16_t)r->ss,
		.xstate = xstate,
		.mask = mask,
	};
}

static bool write_memory(const struct inject *inject, uint64_t at, const void *from, size_t n)
{
	const struct iovec mine = { (void *)(uintptr_t)from, n },
			   theirs = { (void *)(uintptr_t)at, n };

	return process_vm_writev(inject->in.process->pid, &mine, 1, &theirs, 1, 0) == (ssize_t)n;
}

/* Let the thread run until it has returned from the "handler". */
static int await_return(const struct inject *inject, uint64_t frame)
{
	const uint64_t until = clock_monotonic() + PATIENCE;
	struct user_regs_struct now;
	bool returning = false;
	int status, signal = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, inject->tid, 0, (void *)(uintptr_t)signal))
			return -ESRCH;
		if (!await_stop(inject, until, &status))
			return clock_monotonic() > until ? -ETIMEDOUT : -ESRCH;
		signal = signal_of(status);
		if (WSTOPSIG(status) != TRAP_CALL)
			continue;
		if (returning)
			return 0;
		returning = !ptrace(PTRACE_GETREGS, inject->tid, 0, &now) &&
			    now.orig_rax == SYS_rt_sigreturn && now.rsp == frame + 8;
	}
}

int inject_call(struct inject *inject, uint64_t function, void *data, size_t n, uint64_t second)
{
	static uint8_t vectors[XSTATE_MAX];
	const uint64_t all = UINT64_MAX;
	struct user_regs_struct regs = inject->regs;
	uint64_t xstate, copy, at, mask;
	size_t nvectors = copy_vectors(inject, vectors);
	struct signal_frame frame;
	int err;

	if (!nvectors || n > DATA_MAX ||
	    ptrace(PTRACE_GETSIGMASK, inject->tid, sizeof(mask), &mask))
		return -EIO;
	xstate = (regs.rsp - REDZONE - nvectors) & ~63ull;
	copy = (xstate - n) & ~15ull;
	at = ((copy - sizeof(frame)) & ~15ull) - 8;
	frame = make_frame(&regs, inject->in.restorer, xstate, mask);
	if (!write_memory(inject, xstate, vectors, nvectors) ||
	    !write_memory(inject, copy, data, n) ||
	    !write_memory(inject, at, &frame, sizeof(frame)))
		return -EIO;
	regs.rip = function;
	regs.rsp = at;
	regs.rdi = copy;
	regs.rsi = second;
	regs.rax = 0;
	regs.orig_rax = (unsigned long long)-1;
	regs.eflags &= ~0x500ull; /* clear the trap and direction flags */
	if (ptrace(PTRACE_SETREGS, inject->tid, 0, &regs))
		return -errno;
	ptrace(PTRACE_SETSIGMASK, inject->tid, sizeof(all), &all);
	err = await_return(inject, at);
	if (!err && !memory_get(inject->in.memory, copy, data, n))
		err = -EIO;
	return err;
}

void inject_end(struct inject *inject)
{
	if (!inject)
		return;
	detach_thread(inject, 0);
	setpriority(PRIO_PROCESS, 0, inject->priority);
	free(inject);
}

/* Threads inside the library */

static bool is_stack_in_range(const struct unwind_stack *stack, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < stack->n; i++)
		if (stack->frames[i].pc >= start && stack->frames[i].pc < end)
			return true;
	return !stack->complete;
}

/* Does the stack have a word that may be a return address between @start and @end? */
static bool may_return_into(const struct stop *stop, uint64_t start, uint64_t end)
{
	uint64_t word;

	if (stop->pc >= start && stop->pc < end)
		return true;
	for (size_t i = 0; i + sizeof(word) <= stop->nstack; i += sizeof(word)) {
		memcpy(&word, stop->stack + i, sizeof(word));
		if (word >= start && word < end)
			return true;
	}
	return !stop->nstack;
}

/* Move the stops that need to be unwound to the front. */
static size_t select_stops(struct stop *stops, size_t n, uint64_t start, uint64_t end)
{
	size_t some = 0;
	struct stop other;

	for (size_t i = 0; i < n; i++) {
		if (!may_return_into(&stops[i], start, end))
			continue;
		other = stops[some];
		stops[some++] = stops[i];
		stops[i] = other;
	}
	return some;
}

size_t inject_find_inside(const struct inject_process *in, uint64_t start, uint64_t end,
			  uint32_t *ret_tids, size_t most)
{
	const struct target *process = in->process;
	struct unwind_stack *stacks = NULL;
	struct stop *stops = NULL;
	const char *ignored;
	size_t n = 0, some;

	if (stop_all(process, in->memory, true, &stops))
		return most + 1;
	some = select_stops(stops, process->nthreads, start, end);
	if (some && unwind_all(in->memory, process->pid, stops, some, in->modules, in->nmodules,
			       &stacks, &ignored))
		n = most + 1;
	for (size_t i = 0; stacks && i < some; i++)
		if (stops[i].sp && is_stack_in_range(&stacks[i], start, end)) {
			if (n < most)
				ret_tids[n] = (uint32_t)stops[i].tid;
			n++;
		}
	free(stacks);
	stop_free(stops, process->nthreads);
	return n;
}

#else

int inject_begin(const struct inject_process *in, struct inject **ret_inject, const char **ret_why)
{
	(void)in, (void)ret_inject;
	*ret_why = "it needs x86-64";
	return -EAGAIN;
}

int inject_call(struct inject *inject, uint64_t function, void *data, size_t n, uint64_t second)
{
	(void)inject, (void)function, (void)data, (void)n, (void)second;
	return -ENOSYS;
}

void inject_end(struct inject *inject)
{
	(void)inject;
}

size_t inject_find_inside(const struct inject_process *in, uint64_t start, uint64_t end,
			  uint32_t *ret_tids, size_t most)
{
	(void)in, (void)start, (void)end, (void)ret_tids, (void)most;
	return 0;
}

#endif

/*
 * Stops threads for a moment, by ptrace
 *
 *	PTRACE_SEIZE       no signal is sent, nothing stops yet
 *	PTRACE_INTERRUPT   the thread stops; a system call that it sleeps in is restarted later
 *	registers, stack   copied
 *	PTRACE_DETACH      with the signal that arrived in between, if any
 *
 * Some system calls are not restarted but fail with EINTR, although no signal was handled
 * (signal(7)), as epoll_wait(). A program may take that for a failure, so a thread in one of these
 * is not stopped: the kernel reports its SP and PC without a stop.
 *
 * If this process ends, the kernel detaches it from all threads.
 */
#include "cli/attach/stop.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
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
#include "cli/attach/target.h"
#include "core/wire/clock.h"

enum { PEEK_NS = 50000, YIELDS = 100, RELEASE_NS = 1000000000 };

/* Registers */

#if defined(__x86_64__)
static void store_registers(struct stop *stop, const struct user_regs_struct *r)
{
	const uint64_t dwarf[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
				   r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
				   r->r12, r->r13, r->r14, r->r15, r->rip };

	stop->nregisters = sizeof(dwarf) / sizeof(*dwarf);
	for (unsigned int i = 0; i < stop->nregisters; i++)
		stop->registers[i] = dwarf[i];
	stop->sp = r->rsp;
	stop->pc = r->rip;
}
#elif defined(__aarch64__)
static void store_registers(struct stop *stop, const struct user_regs_struct *r)
{
	stop->nregisters = 32;
	for (unsigned int i = 0; i < 31; i++)
		stop->registers[i] = r->regs[i];
	stop->registers[31] = r->sp;
	stop->sp = r->sp;
	stop->pc = r->pc;
}
#else
#error "map this processor's registers to their numbers in DWARF here"
#endif

void stop_fill_registers(struct stop *stop, const void *registers, long *ret_syscall,
			 uint64_t ret_arguments[6])
{
	struct user_regs_struct r;

	memcpy(&r, registers, sizeof(r));
	store_registers(stop, &r);
#if defined(__x86_64__)
	*ret_syscall = (long)r.orig_rax;
	memcpy(ret_arguments, (uint64_t[]){ r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9 },
	       6 * sizeof(*ret_arguments));
#else
	*ret_syscall = (long)r.regs[8];
	memcpy(ret_arguments, r.regs, 6 * sizeof(*ret_arguments));
#endif
}

static bool copy_registers(struct stop *stop)
{
	struct user_regs_struct registers;
	struct iovec io = { &registers, sizeof(registers) };

	if (ptrace(PTRACE_GETREGSET, stop->tid, (void *)NT_PRSTATUS, &io) < 0 ||
	    io.iov_len != sizeof(registers))
		return false;
	store_registers(stop, &registers);
	return true;
}

static void copy_stack(const struct target *process, const struct memory *memory, struct stop *stop)
{
	const struct target_map *map = target_map_at(process, stop->sp);
	uint64_t n = map ? map->end - stop->sp : 0;

	if (n > STOP_STACK)
		n = STOP_STACK;
	stop->stack = n ? malloc(n) : NULL;
	stop->nstack = stop->stack ? memory->read(memory, stop->sp, stop->stack, n) : 0;
}

/* Which threads may be stopped */

/* The system calls that fail with EINTR after a stop. */
static const long visible[] = {
	SYS_epoll_pwait, SYS_epoll_pwait2,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	SYS_semop,       SYS_semtimedop,   SYS_rt_sigtimedwait, SYS_io_getevents,
};

/* System calls that fail with EINTR only on a socket with a time limit. */
static const long visible_on_sockets[] = {
	SYS_read,   SYS_write,   SYS_readv,   SYS_writev,  SYS_recvfrom, SYS_recvmsg,
	SYS_sendto, SYS_sendmsg, SYS_accept4, SYS_connect, SYS_recvmmsg, SYS_sendmmsg,
#ifdef SYS_accept
	SYS_accept,
#endif
};

bool stop_is_visible(const struct target *process, long number, const uint64_t *arguments)
{
	const struct target_fd *fd;

	for (size_t i = 0; i < sizeof(visible) / sizeof(*visible); i++)
		if (visible[i] == number)
			return true;
	for (size_t i = 0; i < sizeof(visible_on_sockets) / sizeof(*visible_on_sockets); i++) {
		if (visible_on_sockets[i] != number)
			continue;
		fd = target_fd_find(process, (int)arguments[0]);
		return !fd || fd->kind == TARGET_FD_SOCKET || fd->kind == TARGET_FD_INOTIFY;
	}
	return false;
}

static const char *why_not_stopped(const struct target *process, const struct target_thread *thread)
{
	if (thread->state == 'D')
		return "it sleeps in the kernel, uninterruptibly";
	if (thread->state == 'T' || thread->state == 't')
		return "it is stopped already";
	if (thread->state == 'Z' || !thread->state)
		return "it has ended";
	if (thread->syscall >= 0 && stop_is_visible(process, thread->syscall, thread->arguments))
		return "its system call would fail with EINTR";
	return NULL;
}

/* Stopping */

/* Wait until the thread stops. Returns its status; -1 after @most ns, or if it has ended. */
static int await_stop(pid_t tid, uint64_t since, uint64_t most)
{
	static const struct timespec pause = { 0, PEEK_NS };
	int status;
	pid_t pid;

	for (int i = 0;; i++) {
		pid = waitpid(tid, &status, __WALL | WNOHANG);
		if (pid == tid)
			return WIFSTOPPED(status) ? status : -1;
		if (pid < 0 || clock_monotonic() - since > most)
			return -1;
		if (i < YIELDS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

/* The signal to deliver when the thread continues; 0 if PTRACE_INTERRUPT caused the stop. */
static int signal_of(int status)
{
	return status >> 16 ? 0 : WSTOPSIG(status);
}

static void stop_and_copy(const struct target *process, const struct memory *memory,
			  struct stop *stop)
{
	uint64_t since = clock_monotonic();
	int status;

	if (ptrace(PTRACE_SEIZE, stop->tid, 0, 0) < 0) {
		stop->why = errno == ESRCH ? "it has ended" : "this user may not trace it";
		return;
	}
	ptrace(PTRACE_INTERRUPT, stop->tid, 0, 0);
	status = await_stop(stop->tid, since, STOP_LIMIT_NS / 2);
	if (status < 0) {
		stop->why = "it did not stop in time";
		stop->late = true;
		return;
	}
	if (copy_registers(stop))
		copy_stack(process, memory, stop);
	ptrace(PTRACE_DETACH, stop->tid, 0, (void *)(uintptr_t)signal_of(status));
	stop->ns = clock_monotonic() - since;
}

static void examine_thread(const struct target *process, const struct memory *memory, bool stopping,
			   const struct target_thread *thread, struct stop *stop)
{
	stop->tid = thread->tid;
	stop->why = why_not_stopped(process, thread);
	if (!stop->why && !stopping)
		stop->why = "--no-stop was given";
	if (!stop->why && process->tracer)
		stop->why = "another process traces it";
	if (!stop->why)
		stop_and_copy(process, memory, stop);
	if (stop->sp)
		return;
	stop->sp = thread->sp;
	stop->pc = thread->pc;
	if (stop->sp)
		copy_stack(process, memory, stop);
}

/*
 * Let threads that stop late continue at once. A thread that was ready but not running, on a busy
 * machine, stops as soon as it runs; if it does not within RELEASE_NS, it sleeps in the kernel.
 */
static void release_late_threads(const struct stop *stops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int status = stops[i].late ? await_stop(stops[i].tid, clock_monotonic(), RELEASE_NS)
					   : -1;

		if (status >= 0)
			ptrace(PTRACE_DETACH, stops[i].tid, 0,
			       (void *)(uintptr_t)signal_of(status));
	}
}

int stop_all(const struct target *process, const struct memory *memory, bool stopping,
	     struct stop **ret_stops)
{
	struct stop *stops = calloc(process->nthreads + 1, sizeof(*stops));
	int priority;

	if (!stops)
		return -ENOMEM;
	/* no other process should run while a thread is stopped; only root may ask for that */
	priority = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, -20);
	for (size_t i = 0; i < process->nthreads; i++)
		examine_thread(process, memory, stopping, &process->threads[i], &stops[i]);
	release_late_threads(stops, process->nthreads);
	setpriority(PRIO_PROCESS, 0, priority);
	*ret_stops = stops;
	return 0;
}

void stop_free(struct stop *stops, size_t n)
{
	for (size_t i = 0; stops && i < n; i++)
		free(stops[i].stack);
	free(stops);
}

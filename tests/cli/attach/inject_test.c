/*
 * cli/attach/inject.c, and the modules that unwind for it: a thread of a child calls functions of
 * this program, which the child has at the same addresses
 *
 * Memory that the test looks at is shared with the child.
 */
#include "cli/attach/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/exported.h"
#include "cli/attach/facts.h"
#include "cli/attach/modules.h"
#include "tests/test.h"

#ifdef __x86_64__

enum { DATA = 64, ALL_SIGNALS = -1 };

static struct shared {
	int calls, tid, signals, seen, go, ready, over;
	uint64_t mask, sum;
} * shared;

static struct facts facts;
static struct unwind_module modules[UNWIND_MODULES];
static struct inject_process in;
static pid_t child;
static int pipe_end; /* closed, it ends the child */

/* What is called in the child */

struct call {
	uint64_t a, b, sum;
	char bytes[DATA];
};

/* Overwrites registers that a function may overwrite, and makes system calls. */
static void note_call(struct call *call, uint64_t second)
{
	sigset_t mask;

	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %%xmm7\n\t"
			 "movdqa %%xmm0, %%xmm15" ::
				 : "xmm0", "xmm7", "xmm15");
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	memcpy(&shared->mask, &mask, sizeof(shared->mask));
	shared->tid = (int)syscall(SYS_gettid);
	call->sum = call->a + 2 * call->b + 4 * second;
	memset(call->bytes, 'x', DATA);
	shared->calls++;
}

static void wait_for_go(struct call *call, uint64_t second)
{
	(void)call, (void)second;
	while (!__atomic_load_n(&shared->go, __ATOMIC_SEQ_CST))
		;
	shared->seen = shared->signals;
}

/* What the child does */

static void note_signal(int number)
{
	(void)number;
	shared->signals++;
}

static void note_ready(void)
{
	__atomic_store_n(&shared->ready, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

static int read_pipe(int fd)
{
	char byte;

	note_ready();
	return read(fd, &byte, 1) == 0 ? 0 : 1;
}

/* All registers have a value that they must keep. */
static int keep_registers(int fd)
{
	uint64_t differs = 0;

	(void)fd;
	note_ready();
	__asm__ volatile("mov $1, %%rbx\n\tmov $2, %%rcx\n\tmov $3, %%rdx\n\tmov $4, %%rsi\n\t"
			 "mov $5, %%rdi\n\tmov $8, %%r8\n\tmov $9, %%r9\n\tmov $10, %%r10\n\t"
			 "mov $11, %%r11\n\tmov $12, %%r12\n\tmov $13, %%r13\n\tmov $14, %%r14\n\t"
			 "mov $15, %%r15\n\tmovq %%rbx, %%xmm0\n\tmovq %%rcx, %%xmm7\n\t"
			 "movq %%rdx, %%xmm15\n"
			 "1:\tcmpl $0, (%1)\n\tje 1b\n\t"
			 "sub $1, %%rbx\n\tsub $2, %%rcx\n\tsub $3, %%rdx\n\tsub $4, %%rsi\n\t"
			 "sub $5, %%rdi\n\tsub $8, %%r8\n\tsub $9, %%r9\n\tsub $10, %%r10\n\t"
			 "sub $11, %%r11\n\tsub $12, %%r12\n\tsub $13, %%r13\n\tsub $14, %%r14\n\t"
			 "sub $15, %%r15\n\t"
			 "or %%rcx, %%rbx\n\tor %%rdx, %%rbx\n\tor %%rsi, %%rbx\n\t"
			 "or %%rdi, %%rbx\n\tor %%r8, %%rbx\n\tor %%r9, %%rbx\n\t"
			 "or %%r10, %%rbx\n\tor %%r11, %%rbx\n\tor %%r12, %%rbx\n\t"
			 "or %%r13, %%rbx\n\tor %%r14, %%rbx\n\tor %%r15, %%rbx\n\t"
			 "movq %%xmm0, %%rcx\n\tsub $1, %%rcx\n\tor %%rcx, %%rbx\n\t"
			 "movq %%xmm7, %%rcx\n\tsub $2, %%rcx\n\tor %%rcx, %%rbx\n\t"
			 "movq %%xmm15, %%rcx\n\tsub $3, %%rcx\n\tor %%rcx, %%rbx\n\t"
			 "mov %%rbx, %0"
			 : "=m"(differs)
			 : "a"(&shared->over)
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "xmm0", "xmm7", "xmm15", "memory");
	return differs != 0;
}

static int stay_in_function(int fd)
{
	(void)fd;
	note_ready();
	while (!__atomic_load_n(&shared->over, __ATOMIC_SEQ_CST))
		;
	return 0;
}

/* The main thread sleeps for a limited time, and another one reads. */
static void *read_in_thread(void *fd)
{
	return (void *)(intptr_t)read_pipe((int)(intptr_t)fd);
}

static int sleep_beside_reader(int fd)
{
	const struct timespec long_time = { 1000, 0 };
	pthread_t thread;

	if (pthread_create(&thread, NULL, read_in_thread, (void *)(intptr_t)fd))
		return 1;
	return nanosleep(&long_time, NULL) ? 1 : 0;
}

/* The test */

static const struct target_map *find_libc(void)
{
	for (size_t i = 0; i < facts.process.nmaps; i++)
		if (strstr(facts.process.maps[i].path, "/libc.so.6"))
			return &facts.process.maps[i];
	return NULL;
}

static void read_child(void)
{
	struct exported_function open = { "dlopen", 0 };
	const struct target_map *libc;
	uint64_t restorer = 0;
	struct stat st;
	int fd;

	assert_int_equal(target_read(child, &facts.process), 0);
	facts.memory = (struct memory){ .read = memory_read_process, .pid = child };
	libc = find_libc();
	assert_non_null(libc);
	fd = target_open(&facts.process, libc->path, &st);
	assert_int_equal(exported_find(fd, &open, 1, &restorer), 0);
	close(fd);
	assert_int_equal(libc->start + open.value, (uint64_t)(uintptr_t)dlopen);
	in = (struct inject_process){ .process = &facts.process,
				      .memory = &facts.memory,
				      .modules = modules,
				      .nmodules = modules_open(&facts, modules_open_file, modules),
				      .restorer = libc->start + restorer };
	assert_true(in.nmodules > 3);
}

/* Fork a child that runs @run, and wait until it is there. */
static void start_child(int (*run)(int fd))
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	memset(shared, 0, sizeof(*shared));
	child = fork();
	if (!child) {
		close(fds[1]);
		signal(SIGUSR1, note_signal);
		_exit(run(fds[0]));
	}
	close(fds[0]);
	pipe_end = fds[1];
	while (!__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST))
		sched_yield();
	read_child();
}

static int end_child(void)
{
	int status;

	__atomic_store_n(&shared->over, 1, __ATOMIC_SEQ_CST);
	close(pipe_end);
	assert_int_equal(waitpid(child, &status, 0), child);
	modules_close(modules, in.nmodules);
	target_fini(&facts.process);
	memset(&facts, 0, sizeof(facts));
	return status;
}

static int share_memory(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED;
}

GROUP(share_memory, NULL);

static struct inject *borrow_thread(void)
{
	struct inject *inject = NULL;
	const char *why = NULL;
	int err = inject_begin(&in, &inject, &why);

	if (err)
		fail_msg("%d: %s", err, why);
	return inject;
}

static void call_and_check(struct inject *inject, uint64_t a)
{
	struct call call = { .a = a, .b = 20 };
	int before = shared->calls;

	assert_int_equal(inject_call(inject, (uintptr_t)note_call, &call, sizeof(call), 300), 0);
	assert_int_equal(shared->calls, before + 1);
	assert_int_equal(call.sum, a + 2 * 20 + 4 * 300);
	assert_int_equal(call.bytes[0], 'x');
	assert_int_equal(call.bytes[DATA - 1], 'x');
	assert_int_equal(shared->mask | 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) |
				 3ull << (32 - 1), /* of libc itself */
			 ALL_SIGNALS);
}

TEST(a_thread_that_sleeps_calls_functions)
{
	struct inject *inject;

	start_child(read_pipe);
	inject = borrow_thread();
	for (unsigned int i = 0; i < 3; i++)
		call_and_check(inject, i);
	inject_end(inject);
	assert_int_equal(shared->tid, child);
	inject = borrow_thread();
	call_and_check(inject, 9);
	inject_end(inject);
	assert_int_equal(end_child(), 0); /* its read() goes on */
}

TEST(a_thread_that_runs_keeps_its_registers)
{
	struct inject *inject;

	start_child(keep_registers);
	for (unsigned int i = 0; i < 3; i++) {
		inject = borrow_thread();
		call_and_check(inject, i);
		inject_end(inject);
	}
	assert_int_equal(end_child(), 0);
}

TEST(a_thread_without_a_time_limit_is_preferred)
{
	struct inject *inject;

	start_child(sleep_beside_reader);
	inject = borrow_thread();
	call_and_check(inject, 1);
	inject_end(inject);
	assert_int_equal(shared->tid, shared->ready);
	assert_int_not_equal(shared->tid, child);
	kill(child, SIGKILL);
	assert_int_equal(end_child(), SIGKILL);
}

static int nidle;

/* While the call runs: a signal, and only then what it waits for. */
static void note_idle(void *of)
{
	assert_ptr_equal(of, &nidle);
	if (!nidle++)
		kill(child, SIGUSR1);
	__atomic_store_n(&shared->go, 1, __ATOMIC_SEQ_CST);
}

TEST(a_signal_waits_until_the_call_has_returned)
{
	struct inject *inject;
	struct call call = { 0 };

	start_child(stay_in_function);
	nidle = 0;
	in.idle = note_idle;
	in.of = &nidle;
	inject = borrow_thread();
	assert_int_equal(inject_call(inject, (uintptr_t)wait_for_go, &call, sizeof(call), 0), 0);
	inject_end(inject);
	assert_true(nidle > 0);
	assert_int_equal(shared->seen, 0);
	assert_int_equal(end_child(), 0);
	assert_int_equal(shared->signals, 1);
}

TEST(data_has_a_limit)
{
	static char data[4097];
	struct inject *inject;

	start_child(read_pipe);
	inject = borrow_thread();
	assert_int_equal(inject_call(inject, (uintptr_t)wait_for_go, data, 4097, 0), -EIO);
	shared->go = 1;
	assert_int_equal(inject_call(inject, (uintptr_t)wait_for_go, data, 4096, 0), 0);
	inject_end(inject);
	assert_int_equal(end_child(), 0);
}

TEST(a_process_that_has_ended_has_no_thread)
{
	struct inject *inject = NULL;
	const char *why = NULL;

	start_child(read_pipe);
	assert_int_equal(end_child(), 0);
	facts.process.pid = child;
	assert_int_equal(inject_begin(&in, &inject, &why), -ESRCH);
	assert_null(inject);
	facts.process.pid = 0;
	inject_end(NULL);
}

/* The code of this program, of which @function is in the mapping. */
static const struct target_map *map_of(void *function)
{
	const struct target_map *map = target_map_at(&facts.process, (uintptr_t)function);

	assert_non_null(map);
	return map;
}

TEST(a_thread_inside_a_library_is_found)
{
	const struct target_map *own, *libc, *other;
	uint32_t tids[2] = { 0 };

	start_child(read_pipe);
	own = map_of((void *)read_pipe);
	libc = map_of((void *)read);
	other = map_of((void *)shared);
	assert_int_equal(inject_find_inside(&in, own->start, own->end, tids, 2), 1);
	assert_int_equal(tids[0], child);
	tids[0] = 0;
	assert_int_equal(inject_find_inside(&in, libc->start, libc->end, tids, 2), 1);
	assert_int_equal(tids[0], child);
	tids[0] = 0;
	assert_int_equal(inject_find_inside(&in, other->start, other->end, tids, 2), 0);
	assert_int_equal(tids[0], 0);
	assert_int_equal(inject_find_inside(&in, own->start, own->end, tids, 0), 1);
	assert_int_equal(tids[0], 0);
	assert_int_equal(end_child(), 0);
}

TEST(all_threads_inside_are_found)
{
	const struct target_map *own;
	uint32_t tids[2] = { 0 };

	start_child(sleep_beside_reader);
	own = map_of((void *)read_pipe);
	assert_int_equal(inject_find_inside(&in, own->start, own->end, tids, 2), 2);
	assert_int_equal(tids[0] + tids[1], child + shared->ready);
	kill(child, SIGKILL);
	end_child();
}

/* The names of the frames, the innermost first, up to main(). */
TEST(a_stack_is_unwound_with_names)
{
	struct unwind_stack *stacks = NULL;
	struct stop *stops = NULL;
	const char *why;
	size_t i = 0;

	start_child(read_pipe);
	assert_int_equal(stop_all(&facts.process, &facts.memory, true, &stops), 0);
	assert_int_equal(
		unwind_all(&facts.memory, child, stops, 1, modules, in.nmodules, &stacks, &why), 0);
	assert_null(why);
	assert_true(stacks->complete);
	for (; i < stacks->n && strcmp(stacks->frames[i].function, "read_pipe") != 0; i++)
		assert_int_equal(strncmp(stacks->frames[i].module, "libc.so", 7), 0);
	assert_string_equal(stacks->frames[i].function, "read_pipe");
	assert_string_equal(stacks->frames[i].module, "inject_test");
	assert_string_equal(stacks->frames[i + 1].function, "start_child");
	assert_false(stacks->frames[i].interrupted);
	free(stacks);
	stop_free(stops, facts.process.nthreads);
	assert_int_equal(end_child(), 0);
}

#else

TEST(it_needs_x86_64)
{
	const struct inject_process none = { 0 };
	struct inject *inject;
	const char *why;

	assert_int_equal(inject_begin(&none, &inject, &why), -EAGAIN);
}

#endif

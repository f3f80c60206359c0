/*
 * Filters of system calls: the computed result of each is that of the kernel
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/wire/session.h"
#include "shim/trace/interpose/sandbox.h"
#include "tests/test.h"

enum { LENGTH = 32, PROGRAMS = 300, ASKED = SYS_getpriority, KILLED = 1 << 16 };

static const uint64_t args[6] = { 3, 0x123456789abcdef0, 0, 7, 0x80000000, 0xffffffffffffffff };

static struct sock_filter any_load(bool to_x)
{
	static const uint32_t offsets[] = { 0, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60 };
	uint16_t class = to_x ? BPF_LDX : BPF_LD;

	switch (rand() % (to_x ? 3 : 4)) {
	case 0:
		return (struct sock_filter)BPF_STMT(class | BPF_IMM, (uint32_t)rand());
	case 1:
		return (struct sock_filter)BPF_STMT(class | BPF_MEM, (uint32_t)rand() % 4);
	case 2:
		return (struct sock_filter)BPF_STMT(class | BPF_W | BPF_LEN, 0);
	default:
		return (struct sock_filter)BPF_STMT(class | BPF_W | BPF_ABS, offsets[rand() % 13]);
	}
}

static struct sock_filter any_sum(void)
{
	static const uint16_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,
					BPF_AND, BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	uint16_t op = ops[rand() % 10];

	if (rand() % 2 && op != BPF_NEG)
		return (struct sock_filter)BPF_STMT(BPF_ALU | op | BPF_X, 0);
	return (struct sock_filter)BPF_STMT(BPF_ALU | op | BPF_K, 1 + (uint32_t)rand() % 31);
}

static struct sock_filter any_jump(unsigned int left)
{
	static const uint16_t ops[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	uint8_t jt = (uint8_t)((unsigned int)rand() % left),
		jf = (uint8_t)((unsigned int)rand() % left);

	if (rand() % 5 == 0)
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, jt);
	return (struct sock_filter)BPF_JUMP(
		(uint16_t)(BPF_JMP | ops[rand() % 4] | (rand() % 2 ? BPF_X : BPF_K)),
		(uint32_t)rand() % 8, jt, jf);
}

static struct sock_filter make_any(unsigned int left)
{
	switch (rand() % 8) {
	case 0:
	case 1:
		return any_load(rand() % 3 == 0);
	case 2:
		return (struct sock_filter)BPF_STMT(rand() % 2 ? BPF_ST : BPF_STX,
						    (uint32_t)rand() % 4);
	case 3:
		return (struct sock_filter)BPF_STMT(
			(uint16_t)(BPF_MISC | (rand() % 2 ? BPF_TAX : BPF_TXA)), 0);
	case 4:
		return any_jump(left);
	default:
		return any_sum();
	}
}

/* For the one call an error whose number is the computed result; all others are allowed. */
static void any_program(struct sock_filter code[LENGTH])
{
	const struct sock_filter begin[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ASKED, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_ST, 0), /* memory that was never written is refused */
		BPF_STMT(BPF_ST, 1),
		BPF_STMT(BPF_ST, 2),
		BPF_STMT(BPF_ST, 3),
	};
	const struct sock_filter end[] = {
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7ff),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	unsigned int i = sizeof(begin) / sizeof(*begin), body = LENGTH - 3;

	memcpy(code, begin, sizeof(begin));
	for (; i < body; i++)
		code[i] = make_any(body - i);
	memcpy(&code[body], end, sizeof(end));
}

/* The kernel's answer to a child that keeps the filter; -1: the filter was not accepted. */
static int kernel_answer(struct sock_filter *code, volatile int *shared)
{
	const struct sock_fprog filter = { LENGTH, code };
	pid_t pid;
	int status;

	*shared = -1;
	/* without threads that a sanitizer starts in a child: a filter kills one thread */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (!pid) {
		if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, 2, &filter))
			*shared =
				syscall(ASKED, args[0], args[1], args[2], args[3], args[4], args[5])
					? errno
					: 0;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(!status || WTERMSIG(status) == SIGSYS);
	return status ? KILLED : *shared;
}

static int our_answer(const struct sock_filter *code)
{
	struct seccomp_data call = { .nr = ASKED };
	uint32_t answer;

	memcpy(call.args, args, sizeof(args));
	answer = sandbox_evaluate(code, LENGTH, &call);
	return answer == SECCOMP_RET_KILL ? KILLED : (int)(answer & SECCOMP_RET_DATA);
}

TEST(the_kernel_answers_the_same)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sock_filter code[LENGTH];
	int asked = 0;

#ifdef __SANITIZE_THREAD__
	skip(); /* its own thread outlives the one that a filter has killed */
#endif
	assert_true(shared != MAP_FAILED);
	for (int i = 0; i < PROGRAMS; i++) {
		int answer;

		srand((unsigned int)i);
		any_program(code);
		answer = kernel_answer(code, shared);
		if (answer < 0)
			continue;
		asked++;
		if (our_answer(code) != answer)
			fail_msg("program %d: %d instead of %d", i, our_answer(code), answer);
	}
	munmap(shared, 4096);
	if (!asked)
		skip(); /* no filters here */
	assert_int_equal(asked, PROGRAMS);
}

TEST(bad_programs_end)
{
	const struct sock_filter nothing = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 1000),
				 away = BPF_STMT(BPF_JMP | BPF_JA, 0xfffffff0);
	const struct seccomp_data call = { 0 };

	assert_int_equal(sandbox_evaluate(&nothing, 1, &call), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(sandbox_evaluate(&away, 1, &call), SECCOMP_RET_KILL_PROCESS);
}

static int filters_of_itself(void)
{
	static struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = { 1, &code };
	uint32_t before = session_filters();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		return 2;
	return before == UINT32_MAX || session_filters() != before + 1;
}

TEST(filters_are_counted)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(filters_of_itself());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status == 2 << 8)
		skip();
	assert_int_equal(status, 0);
}

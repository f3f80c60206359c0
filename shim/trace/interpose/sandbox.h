#pragma once
/*
 * Checks whether a system call of the recorder might harm a program under a filter of system calls
 * (seccomp(2)), the program's own or an inherited filter. Any thread.
 */
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Recording of this process begins. @known: if the process has this number of filters,
 * process_vm_readv(2) is known to be allowed (struct session_page).
 */
void sandbox_begin(uint32_t known, bool child);

/*
 * Between sandbox_enter() and sandbox_leave() this thread may call process_vm_readv(2) on itself;
 * False: it may not, and sandbox_leave() must not be called. Meanwhile the program cannot install a
 * filter.
 */
bool sandbox_enter(void);
void sandbox_leave(void);

/*
 * Report what the process's filters prevent, in this thread's ring, if it has one; each forbidden
 * kind only once.
 */
void sandbox_report(void);

/* A system call that the recorder may make in the program, and its purpose: enum event_need. */
struct sandbox_call {
	int number;
	const char *name;
	uint32_t needs;
	uint64_t args[6]; /* possible values; a pointer stands for any value except NULL */
};

extern const struct sandbox_call sandbox_calls[];
extern const size_t sandbox_ncalls;

/*
 * The result of evaluating a filter for @call; the kernel has accepted the filter, which has @n
 * instructions.
 */
struct seccomp_data;
uint32_t sandbox_evaluate(const struct sock_filter *code, unsigned int n,
			  const struct seccomp_data *call);

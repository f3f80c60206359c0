#pragma once
/*
 * Registers and stacks of threads.
 *
 * A thread is stopped, its registers and stack are copied, and it continues: some 100 us, at most
 * STOP_LIMIT_NS. The stack is unwound later, from the copy (cli/attach/unwind.c). Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory;
struct target;

enum { STOP_REGISTERS = 32, STOP_STACK = 128 << 10, STOP_LIMIT_NS = 50000000 };

struct stop {
	pid_t tid;
	uint64_t registers[STOP_REGISTERS]; /* by their number in DWARF */
	unsigned int nregisters;            /* 0: none are known but @sp and @pc */
	uint64_t sp, pc;                    /* 0: not known */
	uint64_t ns;                        /* how long it was stopped */
	bool late;                          /* the thread had not stopped within STOP_LIMIT_NS */
	const char *why;                    /* why it was not stopped, a text of ours; or NULL */
	uint8_t *stack;                     /* copy of its stack from @sp on */
	size_t nstack;
};

/*
 * Copy the registers and stacks of all threads of @process; without stopping any if @stopping is
 * false. Threads that cannot be stopped without harm run on: only their SP and PC are known. 0 or
 * -ENOMEM.
 */
int stop_all(const struct target *process, const struct memory *memory, bool stopping,
	     struct stop **ret_stops);
void stop_free(struct stop *stops, size_t n);

/*
 * Fill the registers, SP and PC of @stop from @registers, as NT_PRSTATUS has them; and the system
 * call that the thread is in, -1 for none, with its arguments.
 */
void stop_fill_registers(struct stop *stop, const void *registers, long *ret_syscall,
			 uint64_t ret_arguments[6]);

/* Would an interruption of this system call be visible: would it fail with EINTR? */
bool stop_is_visible(const struct target *process, long number, const uint64_t *arguments);

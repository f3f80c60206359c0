#pragma once
/*
 * Has a thread of a running process call functions. x86-64. Not thread-safe.
 *
 * At each instant this process may be killed: the borrowed thread then finishes the call, and goes
 * on where it was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/unwind.h"

struct inject;
struct target;
struct memory;

struct inject_process {
	const struct target *process;
	const struct memory *memory;
	const struct unwind_module *modules; /* for unwinding */
	size_t nmodules;
	uint64_t restorer;      /* code that returns from a signal handler */
	void (*idle)(void *of); /* called now and then while a call runs; or NULL */
	void *of;
};

/*
 * Stop a thread where it holds no lock. 0 and an object that the caller passes to inject_end();
 * -EAGAIN if none was found in some seconds, with *@ret_why, a text of ours; -ESRCH, -EPERM.
 */
int inject_begin(const struct inject_process *in, struct inject **ret_inject, const char **ret_why);

/*
 * Call @function(address of a copy of @data, @second), and copy the result back to *@data. 0;
 * -ESRCH: the process has ended; -ETIMEDOUT: the call did not return in some seconds, and
 * continues.
 */
int inject_call(struct inject *inject, uint64_t function, void *data, size_t n, uint64_t second);

/* Let the thread continue. Accepts NULL. */
void inject_end(struct inject *inject);

/*
 * Find the threads with code at @start to @end on their stacks: at most @most in @ret_tids; returns
 * their number. A thread whose stack is not known counts.
 */
size_t inject_find_inside(const struct inject_process *in, uint64_t start, uint64_t end,
			  uint32_t *ret_tids, size_t most);

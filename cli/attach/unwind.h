#pragma once
/*
 * Call stacks, from registers and copied stacks.
 *
 * The files of a program are untrusted, but libdw trusts its input, so it runs in a separate
 * process with limits on memory and time: if that crashes, stacks are missing. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory;
struct stop;

enum { UNWIND_FRAMES = 48, UNWIND_NAME = 96, UNWIND_MODULES = 1024 };

struct unwind_frame {
	uint64_t pc;
	bool interrupted;           /* a signal handler runs above it */
	char function[UNWIND_NAME]; /* "": not known */
	char module[UNWIND_NAME];   /* name of the file without its folder */
};

struct unwind_stack {
	size_t n;
	bool complete; /* the last frame is the one where the thread begins */
	struct unwind_frame frames[UNWIND_FRAMES]; /* the innermost first */
};

/* A file with code that is mapped at @start. */
struct unwind_module {
	uint64_t start;
	const char *name; /* its path, as text */
	int fd;           /* of the file */
};

/*
 * The stacks of @n threads, to be freed, with as many frames as could be found. *@ret_why is why
 * some are missing, a text of ours, or NULL. 0 or -ENOMEM.
 */
int unwind_all(const struct memory *memory, pid_t pid, const struct stop *stops, size_t n,
	       const struct unwind_module *modules, size_t nmodules,
	       struct unwind_stack **ret_stacks, const char **ret_why);

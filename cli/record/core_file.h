#pragma once
/*
 * A core dump of a stopped process, written by gdb's gcore(1).
 *
 * It has all threads, does not depend on the core size limit, and is written to a chosen path,
 * whatever the machine's core pattern is. Its duration depends on the size of the memory, so it
 * runs in the background. Not thread-safe.
 */
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* A core that is being written, of a stopped process. */
struct core_file {
	pid_t writer; /* 0: none is */
	pid_t pid;
	int output; /* the writer's messages */
	int status; /* of the writer, as from waitpid() */
	int dir;    /* its target directory, accessible only to this user; its name is `folder` */
	char path[512], folder[520];
	char what[512]; /* additional text for the message about it */
};

/* Find gcore: 0, or -ENOENT after log_err(). */
int core_find(char found[PATH_MAX]);

/*
 * Begin a core of @pid, named @prefix with the pid appended, and a number if a file of that name
 * exists when it is done: no existing file is overwritten. core->what is set by the caller. 0 or
 * -errno after log_err().
 */
int core_begin(struct core_file *core, const char *prefix, pid_t pid);

/* Is the core done? @wait: wait until it is. core->writer is then 0. */
bool core_has_ended(struct core_file *core, bool wait);

/* Report the result of a core, once, and free it. */
void core_report(struct core_file *core);

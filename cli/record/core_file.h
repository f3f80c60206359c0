#pragma once
/*
 * A core of a process that is stopped, written by gdb's gcore(1).
 *
 * It has all threads, needs no limit on cores, and is where we say, whatever the machine does with
 * cores otherwise. It takes as long as the memory is large, so we do not wait for it. One thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* A core that is being written, of a process that is stopped. */
struct core_file {
	pid_t writer; /* 0: none is */
	pid_t pid;
	int output; /* what the writer says */
	int status; /* of the writer, as from waitpid() */
	int dir;    /* what it writes into, open to us alone; its name is `folder` */
	char path[512], folder[520];
	char what[512]; /* what is told with it */
};

/* Find gcore: 0, or -ENOENT after log_err(). */
int core_find(char found[PATH_MAX]);

/*
 * Begin a core of @pid at @prefix with its pid behind, and a number if another file has that name
 * when it is done: nobody else's file is written to. core->what is the caller's. 0 or -errno
 * after log_err().
 */
int core_begin(struct core_file *core, const char *prefix, pid_t pid);

/* Is it done, or will be when we have waited? core->writer is 0 then. */
bool core_ended(struct core_file *core, bool wait);

/* Tell what became of it, once, and free what it had. */
void core_tell(struct core_file *core);

#pragma once
/*
 * What the trace knows of a process: program, command line, modules, forks.
 */
#include <sys/types.h>

/* Before a process's first ring; @before is the pid that this image was recorded with last, or 0. */
void process_begin(pid_t before);

/* In a thread's new ring: the process and its modules, if this is its first. */
void process_write(void);

/* Write the modules that came since the last look; called before a stack is written. */
void process_modules(void);

/* From now on each fork is recorded in the parent. Once an image. */
void process_watch_forks(void);

/*
 * No fork in between: the locks of the loader's list and of libunwind would
 * stay held in the child, where nobody frees them. Nests.
 */
void process_hold_forks(void);
void process_allow_forks(void);

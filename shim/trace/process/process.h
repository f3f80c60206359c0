#pragma once
/*
 * Recording a process: program, command line, modules, forks.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "core/wire/event.h"

/*
 * Called before a process's first ring is created. @before: the pid with which this image was last
 * recorded, or 0.
 */
void process_begin(pid_t before);

/* Write the process and its modules to a thread's new ring, if it is the first of the process. */
void process_write(void);

/*
 * Make forks wait for threads that hold them (forks.h). Called before the program begins, and
 * before join.c registers its handlers.
 */
void process_watch_forks(void);

/* Record each fork. Called before the program begins, after join.c has registered its handlers. */
void process_announce_forks(void);

/* Record exit() from now on. Call it once per image. */
void process_announce_exit(void);

/*
 * This thread will create a child, or execute another program. Returns the fork's number, 0 if it
 * is not recorded. errno is preserved, here and below.
 */
uint32_t process_fork(enum event_fork_how how);

/* The number of this thread's last fork(), returned only once; 0: it was not recorded. */
uint32_t process_take_announced(void);

/* The result of fork @seq, which may be 0. @pid 0: not known. @error 0: success. */
void process_write_fork(uint32_t seq, pid_t pid, int error);

/* Called in a child that has a copy of its parent's memory; fork @seq created it. */
void process_begin_child(uint32_t seq);

/* Is the process recorded? False in a child of vfork(), whose actions are not its parent's. */
bool process_is_recorded(void);

/* The process will end. Async-signal-safe if the thread has a ring. */
void process_exit(enum event_exit_how how, int status);

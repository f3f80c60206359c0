#pragma once
/*
 * Processes: is a process alive, and is this process a child of the one that opened the device?
 */
#include <stdbool.h>
#include <stdint.h>

/* The start time of @pid in clock ticks; 0: it is dead, a zombie, or not accessible. */
uint64_t process_start(int pid);

/* Is process @pid with start time @start alive? If that cannot be determined: true. */
bool process_lives(int pid, uint64_t start);

/* Is process @pid stopped, by a signal or a debugger? If that cannot be determined: false. */
bool process_is_stopped(int pid);

/*
 * A number that a child does not inherit: it is 0 right after any kind of fork. process_new_epoch()
 * sets a new number in a child.
 */
extern uint32_t *process_epoch_page;

static inline uint32_t process_epoch(void)
{
	return *process_epoch_page;
}

/* The process ID, without a system call. */
int process_pid(void);

/* Set a new epoch, if the epoch is 0. 0 or -errno. */
int process_new_epoch(void);

/* ns of CLOCK_MONOTONIC; and of its coarse version, which is faster to read and some ms behind. */
uint64_t process_now(void);
uint64_t process_now_coarse(void);

/*
 * Is this process not allowed to use process_vm calls at all? Also true with VERBATIM_SOFT_VM=off.
 */
bool process_vm_is_refused(void);

/* Does the kernel forbid access to the memory of process @pid? */
bool process_vm_is_forbidden(int pid);

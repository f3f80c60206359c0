#pragma once
/*
 * Processes: whether one is alive, and whether this one is a child of the one that opened the
 * device.
 */
#include <stdbool.h>
#include <stdint.h>

/* The start time of @pid, in clock ticks; 0 if it is dead or a zombie, or is not accessible. */
uint64_t process_start(int pid);

/* Is the process with that start time alive? If in doubt, yes. */
bool process_lives(int pid, uint64_t start);

/* Is it stopped, by a signal or a debugger? If in doubt, no. */
bool process_is_stopped(int pid);

/*
 * A number that a child does not inherit: 0 right after fork, however it was forked.
 * process_new_epoch() gives a child a new one.
 */
extern uint32_t *process_epoch_page;

static inline uint32_t process_epoch(void)
{
	return *process_epoch_page;
}

/* 0 or -errno. Idempotent; a no-op while the epoch is valid. */
int process_new_epoch(void);

/* ns of CLOCK_MONOTONIC, and of the cheap coarse clock, which is some ms behind. */
uint64_t process_now(void);
uint64_t process_now_coarse(void);

/* Must this process not use process_vm at all? Also true with VERBATIM_SOFT_VM=off. */
bool process_vm_is_refused(void);

/* Does the kernel forbid access to the memory of process @pid? */
bool process_vm_is_forbidden(int pid);

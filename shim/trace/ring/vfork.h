#pragma once
/*
 * Children that run in their parent's memory, in the place of one of its threads.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * This thread is about to make such a child, with number @seq: verbs until the
 * child's end may be the child's.
 */
void vfork_begin(uint32_t seq);

/* Is this such a child? Any thread, also where nothing is recorded. */
bool vfork_is_child(void);

/* Such a child becomes another program: written into its parent's ring. */
void vfork_exec(pid_t pid);

/*
 * A child shares this memory and runs beside this thread: they cannot be told
 * apart. Returns true where the thread is not recorded any more.
 */
bool vfork_share(pid_t child);

/* Is the ring this thread's again? */
bool vfork_is_over(void);

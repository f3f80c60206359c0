#pragma once
/*
 * Children that run in their parent's memory, instead of one of its threads.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * This thread will create such a child by fork @seq: verbs until the child's end may be the
 * child's.
 */
void vfork_begin(uint32_t seq);

/* Is the caller such a child? Any thread, also if nothing is recorded. */
bool vfork_is_child(void);

/*
 * A child that runs in its parent's memory executes another program: record this in the parent's
 * ring.
 */
void vfork_exec(pid_t pid);

/*
 * A child shares this memory and runs concurrently with this thread: their verbs cannot be
 * distinguished. Returns true if the thread is not recorded any more.
 */
bool vfork_note_sharing(pid_t child);

/* Does this thread have its ring again? */
bool vfork_is_over(void);

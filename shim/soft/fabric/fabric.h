#pragma once
/*
 * The fabric: a private directory under the shared memory file system in
 * which processes meet.
 *
 * Any thread may call these, unless a comment says otherwise.
 */

/*
 * Take part in the fabric. Counted: the last fabric_leave() removes what
 * this process has put there. 0 or -errno: -EPERM means that the directory
 * is somebody else's, or open to others.
 */
int fabric_join(void);
void fabric_leave(void);

/* The process ends: the same, but other threads may still look at segments. */
void fabric_exit(void);

/* Forget everything inherited, in a child that was forked. */
void fabric_forget(void);

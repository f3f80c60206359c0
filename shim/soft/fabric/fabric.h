#pragma once
/*
 * The fabric: a private directory under the shared memory file system in
 * which processes meet.
 *
 * Any thread may call these, unless a comment says otherwise.
 */

/*
 * Take part in the fabric. Counted: the last fabric_leave() removes what this process has put
 * there. 0 or -errno: -EPERM means that the directory belongs to another user, or is open to
 * others.
 */
int fabric_join(void);
void fabric_leave(void);

/* The same as the process ends, while other threads may still read segments. */
void fabric_exit(void);

/* Forget everything inherited, in a child that was forked. */
void fabric_forget(void);

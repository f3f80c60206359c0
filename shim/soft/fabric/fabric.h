#pragma once
/*
 * The fabric: a private directory in the shared memory file system through which processes
 * communicate.
 *
 * Any thread may call these functions, unless a comment says otherwise.
 */
#include <stdint.h>

/*
 * Join the fabric. Calls are counted: the last fabric_leave() removes the files of this process. 0
 * or -errno: -EPERM means that the directory belongs to another user, or is open to others.
 */
int fabric_join(void);
void fabric_leave(void);

/*
 * How many processes had joined the fabric before this process joined for the first time. It does
 * not change if this process leaves and joins again.
 */
uint32_t fabric_process(void);

/* Like fabric_leave(), while the process ends; other threads may still read segments. */
void fabric_exit(void);

/* In a forked child: forget everything inherited. */
void fabric_forget(void);

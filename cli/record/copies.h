#pragma once
/*
 * What the kernel does with registered pages when a process forks. Any thread.
 */

/*
 * "yes": a child gets copies of them, and the parent keeps its own; "no": the first that
 * writes gets the copy, which may be the parent; "": not known.
 */
const char *copies_on_fork(void);

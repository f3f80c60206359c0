#pragma once
/*
 * What the kernel does with registered pages on a fork. Any thread.
 */

/*
 * "yes": a child gets copies of them, and the parent keeps its own; "no": the first process that
 * writes gets the copy, which may be the parent; "": not known.
 */
const char *copies_on_fork(void);

#pragma once
/*
 * What the kernel does with registered pages on a fork. Any thread.
 */

/*
 * "yes": a child gets copies of the pages, and the parent still has its own; "no": the first
 * process that writes to a page, maybe the parent, gets a copy; "": not known.
 */
const char *copies_on_fork(void);

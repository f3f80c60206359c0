#pragma once
/*
 * Handles SIGBUS, if a file of the session was truncated, without the program's notice.
 */

/* Called once in a process image, when it has joined a session with a directory. */
void fault_begin(void);

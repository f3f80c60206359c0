#pragma once
/*
 * Handles SIGBUS after a file of the session was truncated; the program does not notice.
 */

/* Called once in a process image, when it has joined a session with a directory. */
void fault_begin(void);

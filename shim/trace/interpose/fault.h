#pragma once
/*
 * SIGBUS where a file of the session was cut: the program does not notice.
 */

/* Once a process image, when it has joined a session with a directory. */
void fault_begin(void);

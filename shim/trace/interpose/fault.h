#pragma once
/*
 * SIGBUS where a file of the session was cut is handled without the program's
 * notice.
 */

/* Called once in an image, when the process has joined a session with a directory. */
void fault_begin(void);

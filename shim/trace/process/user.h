#pragma once
/*
 * A program that changes its user: the session's directory is closed to the new user. Any thread.
 */
#include <sys/types.h>

/*
 * This process is about to execute or start another program: count it if it cannot access the
 * session.
 */
void user_exec(void);

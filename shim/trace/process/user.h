#pragma once
/*
 * A program that changes its user: the new user cannot access the session's directory. Any thread.
 */
#include <sys/types.h>

/*
 * This process will execute or start another program: count it if that program cannot access the
 * session.
 */
void user_exec(void);

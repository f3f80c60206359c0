#pragma once
/*
 * A program that gives up its rights: the session's directory is closed to its new user.
 * Any thread.
 */
#include <sys/types.h>

/* Another program takes this process's place, or is started: is it out of the session's reach? */
void user_exec(void);

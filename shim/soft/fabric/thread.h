#pragma once
/*
 * Threads of the device's own: few, and only while something waits.
 */
#include <pthread.h>
#include <stdbool.h>

/*
 * Run @run(@arg) in a thread with all signals blocked: they are for the program's threads. It is
 * detached where @ret_thread is NULL. False if it cannot be created.
 */
bool thread_start(void *(*run)(void *), void *arg, pthread_t *ret_thread);

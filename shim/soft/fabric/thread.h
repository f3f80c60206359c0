#pragma once
/*
 * Threads of the device: few, and only while something waits.
 */
#include <pthread.h>
#include <stdbool.h>

/*
 * Run @run(@arg) in a new thread with all signals blocked, so that the program's threads get them.
 * If @ret_thread is NULL the thread is detached. False: it could not be created.
 */
bool thread_start(void *(*run)(void *), void *arg, pthread_t *ret_thread);

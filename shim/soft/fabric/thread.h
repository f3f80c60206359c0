#pragma once
/*
 * Threads of the device: few, and only while something waits.
 */
#include <pthread.h>
#include <stdbool.h>

/*
 * Run @run(@arg) in a thread with all signals blocked, so that the program's threads get them. It
 * is detached if @ret_thread is NULL. False if it cannot be created.
 */
bool thread_start(void *(*run)(void *), void *arg, pthread_t *ret_thread);

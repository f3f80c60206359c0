#pragma once
/*
 * Threads of the device's own: few, and only while something waits.
 */
#include <pthread.h>
#include <stdbool.h>

/*
 * Run @run(@arg) in a thread that takes no signals: those are the program's.
 * It is detached where @ret_thread is NULL. False if there can be none.
 */
bool thread_start(void *(*run)(void *), void *arg, pthread_t *ret_thread);

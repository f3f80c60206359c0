#pragma once
/*
 * When the timers of queue pairs expire. Any thread.
 */
#include "shim/soft/network/network_qp.h"

/* Open the descriptor; a child calls it again. 0 or -errno. */
int alarm_open(void);
void alarm_close(void);

/* Set the timer of @n to expire at @due; 0: stop it. Callers hold the lock of its send queue. */
void alarm_set(struct network_qp *n, uint64_t due);

/* The thread must also wake at @due, for something other than a timer of a queue pair. */
void alarm_expect(uint64_t due);

/* Wake the thread that waits for timers. */
void alarm_wake_thread(void);

/*
 * A descriptor that becomes readable after alarm_wake_thread(), or when a timer is set that expires
 * earlier than expected.
 */
int alarm_fd(void);
/*
 * alarm_begin(): the thread is about to check the timers. alarm_wait_for(): it has checked them;
 * @due is the earliest time, or UINT64_MAX.
 */
void alarm_begin(void);
void alarm_wait_for(uint64_t due);
uint64_t alarm_expected(void);

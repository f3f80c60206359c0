#pragma once
/*
 * When the timers of queue pairs expire. Any thread.
 */
#include "shim/soft/network/network_qp.h"

/* Called again in a child. 0 or -errno. */
int alarm_open(void);
void alarm_close(void);

/* Set the timer of @n, or stop it, if @due is 0; with the lock of its send queue held. */
void alarm_set(struct network_qp *n, uint64_t due);

/* Something other than a timer of a queue pair is due at @due. */
void alarm_expect(uint64_t due);

/* Wake the thread that waits for the timers. */
void alarm_ring(void);

/* A descriptor that is readable after alarm_ring() or a timer that is earlier than expected. */
int alarm_fd(void);
/*
 * Called by that thread before it looks at the timers, and afterwards with the earliest or
 * UINT64_MAX.
 */
void alarm_begin(void);
void alarm_wait_for(uint64_t due);
uint64_t alarm_expected(void);

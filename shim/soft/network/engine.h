#pragma once
/*
 * The engine: the thread that receives packets and checks timers, and the queue pairs that use the
 * network.
 *
 * Its lock is taken before the lock of a send queue, and waits for the latter only a short time: a
 * program may hold the lock of a send queue while it builds requests, and meanwhile modify another
 * queue pair.
 */
#include "shim/soft/network/network_qp.h"

/* Open the sockets and start the thread, unless it runs. 0 or -errno. */
int engine_start(void);
/* End the thread; no queue pair may be left. */
void engine_stop(void);
/* In a child: the thread does not exist. */
void engine_forget(void);

void engine_add(struct network_qp *n);
/* Remove @qp, so that it gets no more packets; NULL if it does not use the network. */
struct network_qp *engine_remove(const struct soft_qp *qp);

void engine_lock(void);
void engine_unlock(void);

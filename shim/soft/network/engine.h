#pragma once
/*
 * The engine: the thread that receives packets and looks at timers, and the queue pairs that take
 * part.
 *
 * Its lock is taken before that of a send queue, and the latter only if it is free or soon will be:
 * a program may hold it while it builds requests, and modify another queue pair meanwhile.
 */
#include "shim/soft/network/network_qp.h"

/* Open the sockets and start the thread, unless it runs. 0 or -errno. */
int engine_start(void);
/* End the thread, when no queue pair is left. */
void engine_stop(void);
/* In a child: there is no thread. */
void engine_forget(void);

void engine_add(struct network_qp *n);
/* Remove @qp, so that no packet reaches it any more; NULL if it does not take part. */
struct network_qp *engine_remove(const struct soft_qp *qp);

void engine_lock(void);
void engine_unlock(void);

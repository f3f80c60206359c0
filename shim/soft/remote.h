#pragma once
/*
 * Who is at the other end of a send request. The caller holds the lock of
 * the send queue.
 */
#include "shim/soft/soft.h"

/* Who @wr goes to, or NULL: nobody is there. Valid until remote_drop(). */
struct soft_remote *remote_find(struct soft_qp *qp, const struct soft_wr *wr);

/*
 * Lock the other end: its queue pair, and the shared queue that @r names.
 * False, with nothing locked, if it is not connected to us, or not ready.
 */
bool remote_lock(struct soft_qp *qp, struct soft_remote *r);
void remote_unlock(struct soft_remote *r);

/* Forget it: look anew next time. On reset and destruction, too. */
void remote_drop(struct soft_qp *qp);

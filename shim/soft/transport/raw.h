#pragma once
/*
 * Raw Ethernet packets. The caller holds the lock of the send queue.
 */
#include "shim/soft/fabric/copy.h"
#include "shim/soft/transport/objects.h"

/*
 * Send a packet to all queue pairs with matching rules. Returns the completion status (enum
 * ibv_wc_status).
 */
int raw_send(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *from);

/* Forget the queue pairs with rules, on reset and destruction. */
void raw_forget(struct soft_qp *qp);

/* May this process send and steer raw packets? 0, EPERM or EOPNOTSUPP. */
int raw_check_allowed(void);

#pragma once
/*
 * Datagrams. The caller holds the lock of the send queue.
 */
#include "shim/soft/fabric/copy.h"
#include "shim/soft/transport/objects.h"

/*
 * Send to an address handle on another machine; set by the network. Callers hold the lock of the
 * send queue.
 */
extern int (*datagram_send_away)(struct soft_qp *qp, const struct soft_wr *wr, uint32_t qkey,
				 struct copy_list *from);

/* Send @wr with the data in @from. Returns its completion status, or EXECUTE_RNR of deliver.h. */
int datagram_send(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *from);

/* Forget all receivers, on reset and destruction of @qp. */
void datagram_forget(struct soft_qp *qp);

/*
 * For raw.c, which sends to many queue pairs: the one with number @qpn, locked until
 * remote_unlock(), or NULL. datagram_group(): the members of a group, or NULL.
 */
struct soft_remote *datagram_find(struct soft_qp *qp, uint32_t qpn);
const struct mcast_group *datagram_group(struct soft_qp *qp, const struct ibv_ah_attr *attr);

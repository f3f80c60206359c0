#pragma once
/*
 * Datagrams between machines.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/network/network_qp.h"

/* Sends a datagram to another machine: for datagram_send_away. */
int datagrams_send(struct soft_qp *qp, const struct soft_wr *wr, uint32_t qkey,
		   struct copy_list *from);

/* A datagram has arrived for @n. Callers hold the lock of the engine. */
void datagrams_take(struct network_qp *n, const struct arrival *arrival);

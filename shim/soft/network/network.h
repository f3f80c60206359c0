#pragma once
/*
 * Queue pairs and the network: the functions that verbs call. Any thread.
 */
#include "shim/soft/transport/objects.h"

/*
 * @qp is about to enter RTR with @attr: if its peer is on another machine, it uses the network from
 * now on. 0 or an errno.
 */
int network_connect(struct soft_qp *qp, const struct ibv_qp_attr *attr);

/* @qp is about to enter RTS; @psn: its first PSN. */
void network_start(struct soft_qp *qp, uint32_t psn);

/* The path of @qp has changed. */
void network_redirect(struct soft_qp *qp);

/* @qp is reset or destroyed. Callers must not hold the lock of its send queue. */
void network_leave(struct soft_qp *qp);

/* No port of the fabric has the address of @ah: set its route on the network. */
void network_route_ah(struct soft_ah *ah);

/*
 * A queue pair of this process was attached to the group: receive what other machines send to it.
 */
void network_join(const union ibv_gid *gid);

/* network_stop(): the last context is closed. network_forget(): this process is a child. */
void network_stop(void);
void network_forget(void);

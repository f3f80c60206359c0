#pragma once
/*
 * Queue pairs and the wire: what the verbs call. Any thread.
 */
#include "shim/soft/transport/objects.h"

/*
 * @qp is about to enter RTR with @attr: if the other end is on another machine, it uses the wire
 * from now on. 0 or an errno.
 */
int network_connect(struct soft_qp *qp, const struct ibv_qp_attr *attr);

/* The queue pair is about to enter RTS. */
void network_start(struct soft_qp *qp, uint32_t psn);

/* The path of the queue pair has changed. */
void network_redirect(struct soft_qp *qp);

/* The queue pair is reset or destroyed; without the lock of its send queue. */
void network_leave(struct soft_qp *qp);

/* The address of @ah belongs to no port of the fabric. */
void network_route_ah(struct soft_ah *ah);

/* A queue pair of this process was attached to the group: receive what other machines send. */
void network_join(const union ibv_gid *gid);

/* network_stop(): the last context is closed; network_forget(): in a child. */
void network_stop(void);
void network_forget(void);

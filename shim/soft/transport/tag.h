#pragma once
/*
 * Tag matching: the list of tagged buffers of a shared receive queue, and delivery of messages to a
 * queue pair that receives from it.
 */
#include "shim/soft/transport/deliver.h"

/*
 * Deliver a message of @qp like deliver_message(): to the tagged buffer that it matches, or as an
 * unexpected message to the next receive request.
 */
int tag_deliver(struct soft_qp *qp, struct soft_remote *r, struct message *m);

/*
 * Deliver the FINs of finished rendezvous of @qp to its own receive queue, while that has requests.
 * False if the peer was not allowed to read, so that the queue pair must fail. Callers hold the
 * lock of the send queue, but not the locks of the peer.
 */
bool tag_deliver_fins(struct soft_qp *qp);
void tag_forget_fins(struct soft_sq *sq);

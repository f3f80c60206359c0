#pragma once
/*
 * What the software device knows of its objects in the memory of the program itself.
 *
 * Only where the process takes part in a fabric of our version. Not thread-safe.
 */
struct facts;
struct handle_cq;
struct handle_qp;

/* Fill @qp->sq, if the queue pair is of the software device. */
void soft_read_sq(const struct facts *facts, struct handle_qp *qp);

/* Fill cq->slot and cq->events_got. */
void soft_read_cq(const struct facts *facts, struct handle_cq *cq);

#pragma once
/*
 * The queues of Soft-RoCE (rxe), which kernel and program share, in the memory of the program.
 *
 * Not thread-safe.
 */
struct facts;
struct handle_cq;
struct handle_qp;

/* Fill @qp->rings, if the queue pair is one of rxe. */
void rxe_read_qp(const struct facts *facts, struct handle_qp *qp);

/* Fill cq->counted and cq->waiting, if @cq is of rxe. */
void rxe_read_cq(const struct facts *facts, struct handle_cq *cq);

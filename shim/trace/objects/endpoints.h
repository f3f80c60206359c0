#pragma once
/*
 * Queue pairs, shared receive queues and work queues: found by their address when posting, and by
 * the number in a completion. Any thread; control verbs add them.
 *
 * If payload is captured, all of these objects are known; otherwise only QPs with builders.
 */
#include "shim/trace/objects/known.h"
#include "shim/trace/objects/queues.h"

enum endpoint_kind { ENDPOINT_QP, ENDPOINT_SRQ, ENDPOINT_WQ };

struct endpoint {
	struct known known;
	_Atomic(struct endpoint *) next_number;
	struct endpoint *next_computed; /* list of all, newest first */
	enum endpoint_kind kind;
	const struct ibv_context *context;
	_Atomic uint32_t number;                /* QP number of a QP */
	_Atomic(struct endpoint *) srq;         /* SRQ of a QP */
	_Atomic(const void *) send_cq, recv_cq; /* NULL: none, or the CQ of its QP */
	bool datagrams;                         /* each receive has 40 bytes for the GRH */
	bool all_signaled;
	bool has_recv;    /* a QP has its own receive queue */
	bool unknown_srq; /* it receives from an SRQ that was created before the recording began */
	struct payload_queue send, recv;
	struct ibv_qp_ex *ex; /* a QP with watched builders (qp_ex.c); protected by the lock */
	uint64_t ex_ops;
};

/* The object was created; *@cap or *@attr has the values that the verb returned. */
void endpoints_add_qp(const struct ibv_qp *qp, const struct ibv_qp_cap *cap, bool all_signaled,
		      bool has_recv);
void endpoints_add_srq(const struct ibv_srq *srq, const struct ibv_srq_attr *attr,
		       const struct ibv_cq *cq);
void endpoints_add_wq(const struct ibv_wq *wq, uint32_t max, uint32_t spans);

/* The endpoint of @object; NULL: not known. */
struct endpoint *endpoints_find(const void *object);

/*
 * Find @object, or add it, as a QP without known attributes. Callers hold recording_lock(). NULL:
 * out of memory.
 */
struct endpoint *endpoints_get(const void *object);

/* The endpoint of @context with QP number @number, as in a completion. */
struct endpoint *endpoints_of_number(const struct ibv_context *context, uint32_t number);

/*
 * The queue with a request of @wr_id, among those that complete to @cq: queues of QPs (unless
 * @number_known), of XRC SRQs and of WQs. NULL: there is none, or with *@ret_several possibly more
 * than one.
 */
struct payload_queue *endpoints_search(const struct ibv_cq *cq, uint64_t wr_id, bool recv,
				       bool number_known, bool *ret_several);

/* The queue pair with receive queue @recv; NULL: the queue does not belong to a queue pair. */
struct endpoint *endpoints_owner(struct payload_queue *recv);

/* In a child of fork(): the requests that the parent has posted are unknown. */
void endpoints_abandon(void);

#pragma once
/*
 * Queue pairs, shared receive queues and work queues: found by their address
 * when something is posted, and by the number in a completion. Any thread; made
 * by control verbs.
 *
 * Where payload is captured all of them are known, else only QPs with builders.
 */
#include "shim/trace/objects/known.h"
#include "shim/trace/objects/queues.h"

enum endpoint_kind { ENDPOINT_QP, ENDPOINT_SRQ, ENDPOINT_WQ };

struct endpoint {
	struct known known;
	_Atomic(struct endpoint *) next_number;
	struct endpoint *next_made; /* all, the newest first */
	enum endpoint_kind kind;
	const struct ibv_context *context;
	_Atomic uint32_t number;                /* of a QP */
	_Atomic(struct endpoint *) srq;         /* of a QP */
	_Atomic(const void *) send_cq, recv_cq; /* NULL: it has none, or its QP's */
	bool datagrams;                         /* 40 bytes of each receive are the GRH's */
	bool all_signaled;
	bool has_recv;    /* a QP's receives are in a queue of its own */
	bool unknown_srq; /* its receives are in an SRQ made before recording began */
	struct queue send, recv;
	struct ibv_qp_ex *ex; /* of a QP whose builders are watched (qp_ex.c); under the lock */
	uint64_t ex_ops;
};

/* The object is made; *@cap and *@attr as the verb has returned them. */
void endpoints_add_qp(const struct ibv_qp *qp, const struct ibv_qp_cap *cap, bool all_signaled,
		      bool has_recv);
void endpoints_add_srq(const struct ibv_srq *srq, const struct ibv_srq_attr *attr,
		       const struct ibv_cq *cq);
void endpoints_add_wq(const struct ibv_wq *wq, uint32_t max, uint32_t spans);

/* NULL: not known. */
struct endpoint *endpoints_find(const void *object);

/*
 * Add it if it is not known, as a QP of which nothing else is known. Under
 * recording_lock(). NULL: no memory.
 */
struct endpoint *endpoints_get(const void *object);

/* The one that a completion of @cq names. */
struct endpoint *endpoints_of_number(const struct ibv_context *context, uint32_t number);

/*
 * The queue with a request of that wr_id, among those whose completions go to
 * @cq: of QPs (not where @number_known), XRC SRQs and WQs. NULL: there is none,
 * or there may be several (*@ret_several).
 */
struct queue *endpoints_search(const struct ibv_cq *cq, uint64_t wr_id, bool recv,
			       bool number_known, bool *ret_several);

/* The queue pair whose own receive queue this is; NULL: it is not a queue pair's. */
struct endpoint *endpoints_owner(struct queue *recv);

/* In a child of fork(): the requests that the parent has posted are unknown. */
void endpoints_abandon(void);

#pragma once
/*
 * Requests of builders (ibv_wr_*) that are held back: stored in the form of ibv_post_send() until
 * their batch is complete.
 *
 * Used by one thread at a time, like the queue pair's builders.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct held_request;

/* The requests of a batch that are held back; zeroed at first. */
struct held_batch {
	bool on;     /* the following requests of this batch are held back */
	bool failed; /* out of memory */
	uint64_t ns; /* delay of the next request */
	/* or the rule that computes the delay from the number of bytes (plan.h); 0: none */
	size_t pacer;
	struct held_request *first, *last;
};

/*
 * Add the next request, with @opcode and the flags and wr_id of @qp; the caller fills in the rest.
 * NULL: out of memory.
 */
struct ibv_send_wr *held_add(struct held_batch *held, const struct ibv_qp_ex *qp, int opcode);

/* Set the data of the last request. Inline data and a header are copied. */
void held_set_sges(struct held_batch *held, size_t n, const struct ibv_sge *sges);
void held_set_data(struct held_batch *held, size_t n, const struct ibv_data_buf *bufs);
void held_set_header(struct held_batch *held, struct ibv_send_wr *wr, const void *header,
		     uint16_t bytes, uint16_t mss);
void held_set_address(struct held_batch *held, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey);
void held_set_srqn(struct held_batch *held, uint32_t srqn);

/* Postpone all requests (postponed.h). 0 or ENOMEM. */
int held_postpone(const struct held_batch *held, struct ibv_qp *qp);

/* The batch was posted, or given up: free the requests. */
void held_drop(struct held_batch *held);

#pragma once
/*
 * Calls ibv_wr_*() for a list of requests. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ibv_wr_flush(), which not every header has. A flush uses the fields of an atomic request:
 * compare_add is the length, swap is level << 8 | type.
 */
enum {
	BUILDER_FLUSH_OFFSET = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *),
	BUILDER_SIZE = BUILDER_FLUSH_OFFSET + sizeof(void *), /* size of struct ibv_qp_ex with it */
	BUILDER_FLUSH = 14,                                   /* IBV_WR_FLUSH */
	BUILDER_WITH_FLUSH = 1 << 11,                         /* IBV_QP_EX_WITH_FLUSH */
};

/*
 * Does @qp have the builder of @opcode? ibv_wr_flush() exists only if the queue pair was created
 * with BUILDER_WITH_FLUSH: otherwise its offset holds data of the provider.
 */
bool builder_has(const struct ibv_qp_ex *qp, int opcode, bool with_flush);

/*
 * Build the @n requests of @list, and end them by ibv_wr_complete(), whose result is returned; or
 * by ibv_wr_abort(): 0. @bufs: memory for as many buffers as a request has.
 */
int builder_run(struct ibv_qp_ex *qp, const struct ibv_send_wr *list, uint32_t n,
		struct ibv_data_buf *bufs, bool complete);

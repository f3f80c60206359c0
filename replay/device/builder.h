#pragma once
/*
 * ibv_wr_*() from a list of requests. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Does @qp have the builder of @opcode? */
bool builder_has(const struct ibv_qp_ex *qp, int opcode);

/*
 * Build the @n requests of @list, and end them by ibv_wr_complete(), whose result is returned; or
 * by ibv_wr_abort(): 0. @bufs: room for as many buffers as a request has.
 */
int builder_run(struct ibv_qp_ex *qp, const struct ibv_send_wr *list, uint32_t n,
		struct ibv_data_buf *bufs, bool complete);

#pragma once
/*
 * Requests that a fault makes fail, until their completions are polled. Any thread.
 *
 * The recorder cannot complete a request itself: outstanding requests must complete earlier, and
 * all later ones must be flushed. So the device must make it fail: the request is posted with
 * memory that it may not access. Then the queue pair is in its error state, as after any failure,
 * and only the status of the completion (a local protection error) is replaced.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/faults/rule.h"

/* A key that no memory region has. */
#define UNKNOWN_KEY 0xfffffffeu

/*
 * The caller is about to post request @wr_id to @queue (a QP, SRQ or WQ) with UNKNOWN_KEY. Its
 * completion, of queue pair @qpn (0: any), must get the status of @fault. 0 or -ENOMEM.
 */
int forced_status_add(const void *queue, uint32_t qpn, uint64_t wr_id, const struct fault *fault);

/* The request was not posted: forget it. */
void forced_status_take_back(const void *queue, uint64_t wr_id);

/* Forget the requests of a queue that is reset or destroyed. */
void forced_status_forget(const void *queue);

/* Are there any such requests? Check it before forced_status_apply(). */
bool forced_status_has_any(void);

/*
 * A completion of @qpn (0: not known) with an error was polled. True if it belongs to such a
 * request, which is then forgotten; *@status and *@vendor_err are the values that the program must
 * get.
 */
bool forced_status_apply(uint32_t qpn, uint64_t wr_id, enum ibv_wc_status *status,
			 uint32_t *vendor_err);

#pragma once
/*
 * Requests that were made to fail, until their completions are polled. Any thread.
 *
 * The recorder cannot complete a request itself: requests that are outstanding must complete
 * before, and all later ones be flushed. So the device must fail it: the request is posted with
 * memory that it may not access. Then the queue pair is in its error state, as after any failure,
 * and only the status of the completion (a local protection error) is replaced.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/faults/rule.h"

/* A key that no region has. */
#define DOOMED_KEY 0xfffffffeu

/*
 * The request @wr_id of @queue (a QP, SRQ or WQ), whose completion comes from @qpn (0: any), is
 * about to be posted, with DOOMED_KEY, and is to complete as in @fault. 0, or -ENOMEM.
 */
int doomed_add(const void *queue, uint32_t qpn, uint64_t wr_id, const struct fault *fault);

/* The request was not posted. */
void doomed_take_back(const void *queue, uint64_t wr_id);

/* Forget the requests of a queue that is reset or destroyed. */
void doomed_forget(const void *queue);

/* Are there any? Check it before doomed_set_status(). */
bool doomed_any(void);

/*
 * A completion of @qpn (0: not known) with an error was polled. True if it is that of such a
 * request, which is then forgotten; @status and @vendor_err are what the program must get.
 */
bool doomed_set_status(uint32_t qpn, uint64_t wr_id, enum ibv_wc_status *status,
		       uint32_t *vendor_err);

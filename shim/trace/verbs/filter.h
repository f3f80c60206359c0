#pragma once
/*
 * What a filter leaves out (struct session_filter). Not called where
 * recorder.filter is NULL. Events that are left out are counted in the head of
 * the ring.
 */
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "core/wire/desc.h"

/* Is the control verb taken? One that makes, changes or destroys an object always is. */
bool filter_takes_call(enum verb verb);

/* A queue pair was made: does the filter choose it by its place or type? Accepts NULL. */
void filter_made_qp(const struct ibv_qp *qp);

/* Is a post to @queue taken? The queue is of the kind that @verb posts to. */
bool filter_takes_post(enum verb verb, const void *queue);

/* Is a poll that returned completions among the 1 of N that are taken? */
bool filter_takes_poll(void);

/* Is a completion of such a poll taken? An error is taken from every poll. */
bool filter_takes_completion(const struct ibv_cq *cq, bool poll_taken, const struct ibv_wc *wc);

bool filter_takes_notify(const struct ibv_cq *cq);

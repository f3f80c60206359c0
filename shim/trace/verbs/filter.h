#pragma once
/*
 * Verbs that a filter excludes (struct session_filter). Not called if recorder.filter is NULL.
 * Excluded events are counted in the head of the ring.
 */
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "core/wire/desc.h"

/* Is the control verb recorded? Always, if it creates, changes or destroys an object. */
bool filter_takes_call(enum verb verb);

/* A queue pair was created: does the filter select it by its number or type? Accepts NULL. */
void filter_note_qp(const struct ibv_qp *qp);

/* Is a post to @queue recorded? @queue is of the kind to which @verb posts. */
bool filter_takes_post(enum verb verb, const void *queue);

/* Is a poll with completions among the 1 of N that are recorded? */
bool filter_takes_poll(void);

/* Is a completion of such a poll recorded? Always, if it has an error. */
bool filter_takes_completion(const struct ibv_cq *cq, bool poll_taken, const struct ibv_wc *wc);

bool filter_takes_notify(const struct ibv_cq *cq);

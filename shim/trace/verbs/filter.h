#pragma once
/*
 * What a filter leaves out (struct session_filter), where there is one: where
 * recorder.filter is NULL nothing of this is asked. What is left out is counted in
 * the head of the ring.
 */
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "core/wire/desc.h"

/* A control verb. What makes, changes or ends an object is always taken. */
bool filter_takes_call(enum verb verb);

/* A queue pair was made: does the filter choose it by its place or type? Accepts NULL. */
void filter_made_qp(const struct ibv_qp *qp);

/* A post to @queue, of the kind that @verb posts to. */
bool filter_takes_post(enum verb verb, const void *queue);

/* A poll that returned completions: is it among those whose completions are looked at? */
bool filter_takes_poll(void);

/* Such a completion; an error is taken from every poll. */
bool filter_takes_completion(const struct ibv_cq *cq, bool poll_taken, const struct ibv_wc *wc);

bool filter_takes_notify(const struct ibv_cq *cq);

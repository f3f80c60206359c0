#pragma once
/*
 * What a filter leaves out (struct session_filter), where there is one: where
 * recorder.sieve is NULL nothing of this is asked. What is left out is counted in
 * the head of the ring.
 */
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "core/wire/desc.h"

/* A control verb. What makes, changes or ends an object is always taken. */
bool sieve_takes_call(enum verb verb);

/* A post to @queue, a QP or, with VERB_post_srq_recv, an SRQ. */
bool sieve_takes_post(enum verb verb, const void *queue);

/* A poll that returned completions: is it among those whose completions are looked at? */
bool sieve_takes_poll(const struct ibv_cq *cq);

/* Such a completion; an error is taken from every poll. */
bool sieve_takes_completion(bool poll_taken, const struct ibv_wc *wc);

bool sieve_takes_notify(const struct ibv_cq *cq);

#pragma once
/*
 * Who polls which CQ. Any thread, without a lock but for pollers_add().
 *
 * The order of completions that several threads take at once is not seen.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

/* A CQ is made. What polled another one at its address is taken to poll this one, too. */
void pollers_add(const struct ibv_cq *cq);

/* This thread is about to poll @cq. */
void pollers_note(const struct ibv_cq *cq);

/* Is @cq known to be polled by one thread only? */
bool pollers_is_one(const struct ibv_cq *cq);

#pragma once
/*
 * Notes which threads poll a CQ. Any thread; only pollers_add() takes a lock.
 *
 * If several threads poll one CQ, the order of its completions is not known.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

/*
 * A CQ was created. The pollers of an earlier CQ at its address also count as pollers of the new
 * one.
 */
void pollers_add(const struct ibv_cq *cq);

/* This thread is about to poll @cq. */
void pollers_note(const struct ibv_cq *cq);

/* Is @cq known to be polled by only one thread? */
bool pollers_is_single(const struct ibv_cq *cq);

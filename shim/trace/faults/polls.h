#pragma once
/*
 * Polls of completions that faults may change. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

/* The same as posts_patch(), for polls. */
void polls_patch(struct ibv_context_ops *ops, struct ibv_context_ops *behind);

/*
 * Replace the iterator of an extended CQ that was just created; its completions may be held back.
 */
void polls_patch_ex(struct ibv_cq_ex *cq, uint64_t wc_flags);

/* The completions of a CQ that was just created may be held back. */
void polls_hold(struct ibv_cq *cq, bool extended);

/*
 * @cq is about to be destroyed: wait until its events are acknowledged, and forget its completions.
 * False: its completions are not held back. polls_hold_again(): destroying the CQ has failed.
 */
bool polls_release(struct ibv_cq *cq);
void polls_hold_again(struct ibv_cq *cq);

/* A queue pair is reset or destroyed: forget its completions in @cq. */
void polls_purge(struct ibv_cq *cq, uint32_t qpn);

#pragma once
/*
 * Polls of completions that may have been changed. Any thread.
 */
#include <infiniband/verbs.h>

/* As posts_patch(). */
void polls_patch(struct ibv_context_ops *ops, struct ibv_context_ops *behind);

/* Replace the iterator of an extended CQ that was just created. */
void polls_patch_ex(struct ibv_cq_ex *cq);

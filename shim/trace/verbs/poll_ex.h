#pragma once
/*
 * Completions polled with ibv_start_poll() and ibv_next_poll().
 */
#include <infiniband/verbs.h>

#include "core/wire/desc.h"

/*
 * Replace the iterator's pointers of a new extended CQ that was created with @wc_flags. Any thread.
 * Returns 0, or -ENOSPC if there are more different iterators than replacements: then polls of this
 * CQ are not seen.
 */
int poll_ex_patch(struct ibv_cq_ex *cq, uint64_t wc_flags);

/* This thread will call a verb that destroys @object. */
void poll_ex_note_destroy(enum verb verb, const void *object);

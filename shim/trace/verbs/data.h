#pragma once
/*
 * The data path: one event for each call; empty polls are counted.
 *
 * Each distinct function of a provider has a separate replacement, which can call the original
 * without a look-up. Any thread.
 */
#include <infiniband/verbs.h>

/*
 * Replace the data path's pointers of @ops. Callers hold recording_lock(). Returns 0, or -ENOSPC if
 * providers have more functions than there are replacements: those pointers are not changed.
 */
int data_patch(struct ibv_context_ops *ops);

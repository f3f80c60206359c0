#pragma once
/*
 * The data path: one event a call, empty polls counted.
 *
 * There is a function of ours for each distinct function of a provider, so that
 * it knows what to call without a look-up. Any thread.
 */
#include <infiniband/verbs.h>

/*
 * Replace the data path's pointers of @ops. Called under recording_lock().
 * Returns 0, or -ENOSPC where providers have more functions than we do: those
 * pointers stay as they are.
 */
int data_patch(struct ibv_context_ops *ops);

#pragma once
/*
 * The exported verbs, and those of struct verbs_context.
 */
#include <infiniband/verbs.h>

/*
 * Replace the provider's functions in the context itself. Any thread. Returns 0, or -errno if some
 * of them could not be replaced.
 */
int wrappers_patch(struct ibv_context *context);

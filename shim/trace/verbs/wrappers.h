#pragma once
/*
 * The exported verbs, and those of struct verbs_context.
 */
#include <infiniband/verbs.h>

/*
 * Put our functions in place of the provider's, in the context itself. Any
 * thread. Returns 0, or -errno where some had to stay as they are.
 */
int wrappers_patch(struct ibv_context *context);

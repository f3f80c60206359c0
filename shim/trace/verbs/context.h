#pragma once
/*
 * The function pointers of a context, before and after they are ours.
 *
 * Any thread; context_next() takes no lock.
 */
#include <infiniband/verbs.h>

struct context_next {
	struct ibv_context_ops ops;
	struct verbs_context vctx; /* only the pointers of verbs in the list are set */
};

/*
 * Put our functions in place of the provider's, in the context itself.
 * Returns 0, or -errno where some had to stay as they are.
 */
int context_patch(struct ibv_context *context);

/* What was there before. */
const struct context_next *context_next(const struct ibv_context *context);

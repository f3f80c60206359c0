#pragma once
/*
 * The recorder's data about a context.
 *
 * Any thread; context_find() and context_next() take no lock.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>

#include "shim/trace/objects/known.h"

/* The provider's function pointers, which the recorder has replaced. */
struct context_next {
	struct ibv_context_ops ops;
	struct verbs_context vctx; /* only the pointers of listed verbs are set */
};

struct context {
	struct known known;
	struct context_next next;
	/* queue pairs that the filter selects (filter.c); NULL: none yet */
	_Atomic(struct filter_qps *) qps;
};

/* The data about @context; NULL: unknown. */
struct context *context_find(const struct ibv_context *context);

/* Find @context, or add it. Callers hold recording_lock(). NULL: out of memory. */
struct context *context_get(const struct ibv_context *context);

const struct context_next *context_next(const struct ibv_context *context);

#pragma once
/*
 * The original functions of the library and of the provider, which the functions that inject faults
 * call.
 *
 * Faults are injected between the recorder and the library, so that the recorder records what the
 * program gets:
 *
 *	program --> recorder (verbs/) --> faults (here) --> libibverbs, provider
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>

#include "core/wire/desc.h"
#include "shim/trace/base/next.h"
#include "shim/trace/objects/known.h"

extern _Atomic(void *) original_verbs[VERB_COUNT] __attribute__((visibility("hidden")));

/* Look up the library's function of @verb, if that was not done yet. */
static inline void *original_find(enum verb verb)
{
	next_symbol(verb);
	return atomic_load_explicit(&original_verbs[verb], memory_order_relaxed);
}

/*
 * The library's function of @verb if it was looked up already, as it was when the function that
 * injects faults is called.
 */
static inline void *original_found(enum verb verb)
{
	return atomic_load_explicit(&original_verbs[verb], memory_order_relaxed);
}

struct original_of_context {
	struct known known;
	struct ibv_context_ops ops;
	struct verbs_context vctx; /* only the pointers of listed verbs are set */
};

/* The entry of @context, whose functions were replaced. */
const struct original_of_context *original_of_context(const struct ibv_context *context);

/* The entry of @context, added if it is new; NULL: out of memory. Callers hold recording_lock(). */
struct original_of_context *original_add_context(const struct ibv_context *context);

/*
 * The entry of another object: @bytes of memory that begin with struct known. NULL and lock: as
 * above.
 */
void *original_add_object(const void *object, enum known_kind kind, size_t bytes);

/* Move @qp to its error state, so that requests posted later are flushed. */
void original_fail_qp(struct ibv_qp *qp);

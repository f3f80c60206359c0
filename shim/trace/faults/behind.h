#pragma once
/*
 * The functions behind those that inject faults: those of the library and of the provider.
 *
 * Faults are injected between the recorder and the library, so that the recorder records what the
 * program sees:
 *
 * 	program --> recorder (verbs/) --> faults (here) --> libibverbs, provider
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>

#include "core/wire/desc.h"
#include "shim/trace/base/next.h"
#include "shim/trace/objects/known.h"

extern _Atomic(void *) behind_verbs[VERB_COUNT] __attribute__((visibility("hidden")));

/* Look up the library's function of @verb, if that was not done yet. */
static inline void *library_find(enum verb verb)
{
	next_symbol(verb);
	return atomic_load_explicit(&behind_verbs[verb], memory_order_relaxed);
}

/* The same if it was looked up, as when the function in front of it was called. */
static inline void *behind_verb(enum verb verb)
{
	return atomic_load_explicit(&behind_verbs[verb], memory_order_relaxed);
}

struct behind_context {
	struct known known;
	struct ibv_context_ops ops;
	struct verbs_context vctx; /* only the pointers of verbs in the list are set */
};

/* @context was patched. */
const struct behind_context *behind_context(const struct ibv_context *context);

/* The entry of @context, added if it is new; NULL: no memory. With recording_lock() held. */
struct behind_context *behind_add(const struct ibv_context *context);

/* The entry of another object, of @bytes, which begins with struct known; as above. */
void *behind_add_object(const void *object, enum known_kind kind, size_t bytes);

/* Move @qp to its error state, so that what is posted next is flushed. */
void behind_fail_qp(struct ibv_qp *qp);

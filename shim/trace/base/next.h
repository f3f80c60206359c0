#pragma once
/*
 * The original functions, of the libibverbs that the program would call without the recorder. Any
 * thread.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/desc.h"
#include "shim/trace/base/callback.h"

/* The slow path of next_symbol(): look the function up. */
void *next_find(enum verb verb);

/* Look up the function of @verb again, in the loaded libraries. */
void next_find_loaded(enum verb verb);

/* dlclose() has returned: functions of unloaded libraries are not called any more. */
void next_forget_unloaded(void);

/* Look up all available functions, so that later no verb has to take the loader's lock. */
void next_find_all(void);

extern _Atomic(void *) next_found[VERB_COUNT] __attribute__((visibility("hidden")));

/* The function of @verb; NULL: the library has none, or next_find() was not called yet. */
static inline void *next_known(enum verb verb)
{
	return atomic_load_explicit(&next_found[verb], memory_order_relaxed);
}

/* The exported function of @verb, or NULL if the library has none. */
static inline void *next_symbol(enum verb verb)
{
	void *at = next_known(verb);

	return __builtin_expect(at != NULL, 1) ? at : next_find(verb);
}

/*
 * The function to call for @verb: @at, the function that was found, or a function that calls @at.
 */
CALLBACK(void *, next_tamper, (enum verb verb, void *at));

/* Set errno, and return what @verb returns when it is not supported. */
int64_t fail_missing_verb(enum verb verb);

#pragma once
/*
 * Stops the program when a verb has failed, for `verbatim record --stop-on`.
 *
 * Called by the recorder's function of the verb, after the verb itself, in the thread and on the
 * stack of its caller, after the event is published. errno is preserved. These functions also check
 * the conditions for stopping, since they are called only on error paths.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/stack/stack.h"

/* A control verb has returned @ret, a failure; @error: errno after it. @n: number of its event. */
void stop_at_call(enum verb verb, const uint64_t *args, int64_t ret, int error, uint32_t n);

/* Must the program stop at flushed completions, too? */
bool stop_asks_for_flushes(void);

/* A post or an ibv_req_notify_cq() has returned @ret, which is not 0. */
void stop_at_data(enum verb verb, int ret, uint32_t n);

/*
 * A poll returned @nwc completions, one of which has an error other than a flush; or @ret is
 * negative. @stack: call stack of the poll.
 */
void stop_at_poll(enum verb verb, int ret, const struct ibv_wc *wc, uint32_t nwc,
		  const struct stack *stack, uint32_t n);

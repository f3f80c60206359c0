#pragma once
/*
 * Stops the program when a verb has failed, for `verbatim record --stop-on`.
 *
 * Called by the recorder's function of the verb, after the verb itself, in the thread and on the
 * stack of its caller, once the event is published. errno is preserved. These are error paths: the
 * conditions for stopping are only checked here.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/stack/stack.h"

/* A control verb returned @ret, a failure; @error is errno after it. @n: number of its event. */
void stop_at_call(enum verb verb, const uint64_t *args, int64_t ret, int error, uint32_t n);

/* Should the program stop at flushed completions, too? */
bool stop_asks_for_flushes(void);

/* A post or an ibv_req_notify_cq() returned @ret, not 0. */
void stop_at_data(enum verb verb, int ret, uint32_t n);

/*
 * A poll returned @nwc completions, one of which has an error other than a flush; or @ret is
 * negative. @stack is the poll's.
 */
void stop_at_poll(enum verb verb, int ret, const struct ibv_wc *wc, uint32_t nwc,
		  const struct stack *stack, uint32_t n);

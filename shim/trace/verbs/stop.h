#pragma once
/*
 * The program stops where a verb has failed, if `verbatim record --stop-on` asks for it.
 *
 * Called by the recorder's function of the verb, behind the verb itself, in the thread and on the
 * stack of its caller, once the event is published. errno is kept. These are the paths of errors:
 * whether anything stops is only looked at here.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/stack/stack.h"

/* A control verb returned @ret, a failure; @error is errno after it. @n: number of its event. */
void stop_at_call(enum verb verb, const uint64_t *args, int64_t ret, int error, uint32_t n);

/* Does it stop at flushed completions, too? */
bool stop_asks_for_flushes(void);

/* A post or a request to be notified returned @ret, not 0. */
void stop_at_data(enum verb verb, int ret, uint32_t n);

/*
 * A poll returned @nwc completions, one of which is in error and no flush; or @ret is negative.
 * @stack is the poll's.
 */
void stop_at_poll(enum verb verb, int ret, const struct ibv_wc *wc, uint32_t nwc,
		  const struct stack *stack, uint32_t n);

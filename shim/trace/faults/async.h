#pragma once
/*
 * Asynchronous events that the recorder injects.
 *
 * The program retrieves them like events of the device, and must acknowledge them before their
 * object can be destroyed. If there is a rule for them, the program sees another descriptor in
 * struct ibv_context, which is readable for events of both kinds.
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "shim/trace/faults/plan.h"

/*
 * @context was opened. Events without a queue pair are injected into the context that was opened
 * last.
 */
void async_note_opened(struct ibv_context *context);

/* The context is about to be closed. */
void async_forget_context(struct ibv_context *context);

/*
 * While the library uses contexts, they must have the device's descriptor: lend before, return
 * after that. Nests.
 */
void async_lend(void);
void async_return(void);

/*
 * Inject the event of @planned, at a request of @qp or a receive of @srq, or at a call if both are
 * NULL; none if these do not have the event's object. Events that report a failed queue pair or CQ
 * also set the error state.
 */
void async_inject(const struct planned_fault *planned, struct ibv_qp *qp, struct ibv_srq *srq);

/* Inject @event into @context: the program has requested it. 0; EINVAL: @context is not open. */
int async_raise(struct ibv_context *context, const struct ibv_async_event *event);

typedef int async_get_fn(struct ibv_context *context, struct ibv_async_event *event);

/*
 * ibv_get_async_event(): returns an injected event, or one that @behind, the library's function,
 * returns.
 */
int async_get(async_get_fn *behind, struct ibv_context *context, struct ibv_async_event *event);

/* Acknowledge @event if it was injected. False: it was not. */
bool async_ack(const struct ibv_async_event *event);

/*
 * @object will be destroyed: wait until its retrieved events are acknowledged, and drop the others.
 */
void async_release(const void *object);

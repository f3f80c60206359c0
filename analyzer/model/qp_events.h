#pragma once
/*
 * Applies events to queues, by the functions of qp.h.
 *
 * Not thread-safe.
 */
#include "core/store/read/trace.h"

struct life;
struct model;

/* A call or a return, of the application, of librdmacm or inside another verb. */
void qp_process_call(struct model *model, const struct trace_event *event);

/* The application posts to queue @life. */
void qp_process_post(struct model *model, const struct trace_event *event, struct life *life);

/* Completion @wc of a poll failed. */
void qp_process_completion(struct model *model, const struct trace_event *event,
			   const struct wc *wc);

/* The program got asynchronous event @type of @life, by the call @event. */
void qp_process_async(struct life *life, const struct trace_event *event, int64_t type);

#pragma once
/*
 * Updating the queues of a model. For model.c and control.c.
 *
 * Not thread-safe.
 */
#include <stdbool.h>

struct life;
struct model;
struct trace_event;

/* A post on @object, which may be NULL: 0 or -errno after log_err(). A poll of @cq. */
int queues_process_post(struct model *model, const struct trace_event *event, struct life *object);
void queues_process_poll(struct model *model, const struct trace_event *event, struct life *cq);

/*
 * A QP, SRQ, WQ or CQ was created: create its queues, from the arguments of the call. 0 or -ENOMEM.
 */
int queues_add_object(struct model *model, struct life *life, const struct trace_event *event);

/* A control verb on @life returned 0: a reset, or a new size. */
void queues_process_call(struct model *model, struct life *life, const struct trace_event *event);

/* ibv_bind_mw() posts to the send queue. 0 or -ENOMEM. */
int queues_process_bind(struct model *model, struct life *qp, const struct trace_event *event);

/* The object is destroyed, or its process has ended, @killed or not: report unresolved states. */
void queues_end_process(struct model *model, struct life *life, bool killed);

/* The object is dead; @freed: it will not be remembered. */
void queues_remove_object(struct model *model, struct life *life, bool freed);

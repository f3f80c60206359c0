#pragma once
/*
 * Keeping the queues of a model up to date. For model.c and control.c.
 *
 * One thread.
 */
#include <stdbool.h>

struct life;
struct model;
struct trace_event;

/* A post on @object, which may be NULL: 0 or -errno after log_err(). A poll of @cq. */
int queues_post(struct model *model, const struct trace_event *event, struct life *object);
void queues_poll(struct model *model, const struct trace_event *event, struct life *cq);

/* A QP, SRQ, WQ or CQ was made: its queues, from the arguments of the call. 0 or -ENOMEM. */
int queues_make(struct model *model, struct life *life, const struct trace_event *event);

/* A control verb on @life returned 0: a reset, a new size. */
void queues_change(struct model *model, struct life *life, const struct trace_event *event);

/* ibv_bind_mw() posts to the send queue. 0 or -ENOMEM. */
int queues_bind(struct model *model, struct life *qp, const struct trace_event *event);

/* The object is destroyed, or its process has ended, @killed or not: what is open is told. */
void queues_end(struct model *model, struct life *life, bool killed);

/* The object is dead; @freed: and forgotten. */
void queues_leave(struct model *model, struct life *life, bool freed);

#pragma once
/*
 * The effects of control verbs on the model.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct life;
struct model;
struct trace_event;

/* A call of the application, and its return. 0 or -errno after log_err(). */
int control_begin_call(struct model *model, const struct trace_event *event);
int control_end_call(struct model *model, const struct trace_event *event);

/* The object that an asynchronous event, returned by a call, is about; NULL: not known. */
struct life *control_find_element(struct model *model, const struct trace_event *event);

/* A call of a destroy verb, and its return. 0 or -errno after log_err(). */
int control_begin_destroy(struct model *model, const struct trace_event *event);
int control_end_destroy(struct model *model, const struct trace_event *event);

/*
 * End the destroys of @process that never returned; @process 0: all destroys, without notifying the
 * watcher.
 */
void control_end(struct model *model, uint32_t process, int64_t time, bool ended);

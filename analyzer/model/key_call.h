#pragma once
/*
 * The effects of control verbs on keys.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;

/* A call begins, or has returned, from any caller. 0 or -errno after log_err(). */
int keys_process_call(struct model *model, const struct trace_event *event);
int keys_process_return(struct model *model, const struct trace_event *event);

/* @call has created @life: note its context and protection domain. */
void keys_note_parents(struct model *model, struct life *life, const struct call *call);

/* Memory was released: note the regions that have lost all of their memory. */
void keys_note_release(struct model *model, const struct trace_event *event);

/* @process has ended: remove its keys. */
void keys_end(struct model *model, uint32_t process, int64_t time);

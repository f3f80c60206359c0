#pragma once
/*
 * Long waits for a completion that came at last.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/fact.h"

struct model;
struct pauses;

/* NULL if out of memory. */
struct pauses *pauses_new(struct trace *trace, struct fact_list *facts);

/* Accepts NULL. */
void pauses_free(struct pauses *pauses);

/* Completions were polled; a control verb of the application has returned. */
void pauses_note_poll(struct pauses *pauses, struct model *model, const struct trace_event *event);
void pauses_note_return(struct pauses *pauses, const struct model *model,
			const struct trace_event *event);

/* The last event has been seen: add the facts. */
void pauses_finish(struct pauses *pauses, const struct model *model);

#pragma once
/*
 * Waits for requests that are not signalled, in the middle of a run.
 *
 * A thread posts a request that is not signalled, and polls its CQ empty until it gives up and goes
 * on. No other request could complete on that CQ meanwhile, so the wait was in vain. Waits that
 * last until the process ends: waits.h.
 *
 * Not thread-safe.
 */
#include "core/store/read/trace.h"

struct activity;
struct fact_list;
struct model;
struct unsignalled_waits;

/* NULL if out of memory. */
struct unsignalled_waits *unsignalled_waits_new(struct trace *trace, struct fact_list *facts,
						const struct activity *activity);

/* Accepts NULL. */
void unsignalled_waits_free(struct unsignalled_waits *unsignalled);

/* The application has posted sends; has polled completions; destroys a queue pair. */
void unsignalled_waits_note_post(struct unsignalled_waits *unsignalled, struct model *model,
				 const struct trace_event *event);
void unsignalled_waits_note_poll(struct unsignalled_waits *unsignalled,
				 const struct trace_event *event);
void unsignalled_waits_note_destroy(struct unsignalled_waits *unsignalled, struct model *model,
				    const struct trace_event *event);

/* Report the longest wait of each process that no other fact of waiting mentions. */
void unsignalled_waits_finish(struct unsignalled_waits *unsignalled);

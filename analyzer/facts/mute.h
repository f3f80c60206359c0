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
struct mutes;

/* NULL if out of memory. */
struct mutes *mutes_new(struct trace *trace, struct fact_list *facts,
			const struct activity *activity);

/* Accepts NULL. */
void mutes_free(struct mutes *mutes);

/* The application has posted sends; has polled completions; destroys a queue pair. */
void mutes_post(struct mutes *mutes, struct model *model, const struct trace_event *event);
void mutes_poll(struct mutes *mutes, const struct trace_event *event);
void mutes_destroy(struct mutes *mutes, struct model *model, const struct trace_event *event);

/* Report the longest wait of each process that no other fact of waiting mentions. */
void mutes_finish(struct mutes *mutes);

#pragma once
/*
 * Calls that never returned, and processes that were killed.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/failed_verbs.h"
#include "analyzer/model/watcher.h"

struct model;
struct ends;
struct stalls;
struct delays;

int ends_new(struct trace *trace, struct fact_list *facts, struct ends **ret_ends);

/* Accepts NULL. */
void ends_free(struct ends *ends);

/* The application begins to destroy an object. */
void ends_note_destroy(struct ends *ends, struct model *model, const struct trace_event *event);

/* A control verb of the application begins, returns. */
void ends_note_call(struct ends *ends, struct model *model, const struct trace_event *event);
void ends_note_return(struct ends *ends, const struct model *model,
		      const struct trace_event *event);

/* The application has called a post verb. */
void ends_note_post(struct ends *ends, struct model *model, const struct trace_event *event);

/* The application has polled a CQ. */
void ends_note_poll(struct ends *ends, struct model *model, const struct trace_event *event);

/* The application has forked a process. */
void ends_note_fork(struct ends *ends, const struct trace_event *event);

/*
 * A process has ended, or the trace ends; the model still knows its objects. @failed: a completion
 * in error explains it. @expected: the last failure that is not a fact (failed_verbs.h), or NULL.
 * @null: a creation that returned NULL.
 */
void ends_note_exit(struct ends *ends, struct model *model, const struct model_exit *end,
		    bool failed, const char *expected, struct null_result null);

/* The last event has been seen: complete the sentences. */
void ends_finish(struct ends *ends, const struct model *model);

/* What each process waited for; complete after ends_finish(). */
const struct stalls *ends_get_stalls(const struct ends *ends);

/* Which ranks were late; complete after ends_finish(). */
const struct delays *ends_get_delays(const struct ends *ends);

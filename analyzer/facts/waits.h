#pragma once
/*
 * What a process that was killed from outside, or ended with an error, was waiting for.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/fact.h"
#include "analyzer/model/watcher.h"

struct activity;
struct model;
struct waits;

int waits_new(struct trace *trace, struct fact_list *facts, const struct activity *activity,
	      struct waits **ret_waits);

/* Accepts NULL. */
void waits_free(struct waits *waits);

/* The application has posted; a control verb has returned, so queue pairs may have changed. */
void waits_note_post(struct waits *waits, struct model *model, const struct trace_event *event);
void waits_note_change(struct waits *waits);

/*
 * A process ends, and facts->all[@fact] is the fact of its end; the model still knows its objects.
 * False: the process was not waiting for a completion.
 */
bool waits_note_exit(struct waits *waits, struct model *model, const struct model_exit *end,
		     size_t fact);

/*
 * The application begins to destroy a queue pair: the wait of the process until now counts if the
 * process waits for nothing when it ends.
 */
void waits_note_destroy(struct waits *waits, struct model *model, const struct trace_event *event);

/*
 * The application begins to destroy a queue pair, or to modify it, as it does to connect again; has
 * posted sends; has polled completions.
 */
void waits_leave(struct waits *waits, struct model *model, const struct trace_event *event);
void waits_resume(struct waits *waits, const struct trace_event *event);
void waits_poll(struct waits *waits, const struct trace_event *event);

/*
 * The process ends with success. A wait that it gave up becomes a fact if nothing could have ended
 * the wait.
 */
void waits_note_success(struct waits *waits, struct model *model, const struct model_exit *end);

/* The ends of all processes are known: complete the sentences about the other ends. */
void waits_finish(struct waits *waits);

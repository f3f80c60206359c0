#pragma once
/*
 * What a process that was killed from outside was waiting for.
 *
 * One thread.
 */
#include "analyzer/facts/fact.h"
#include "analyzer/model/watcher.h"

struct model;
struct waits;

int waits_new(struct trace *trace, struct fact_list *facts, struct waits **ret_waits);

/* Accepts NULL. */
void waits_free(struct waits *waits);

/* The application has posted; a control verb has returned. */
void waits_post(struct waits *waits, struct model *model, const struct trace_event *event);
void waits_changed(struct waits *waits);

/*
 * facts->all[@fact] is the process that ends, for which nothing had completed since @since; the
 * model still knows its objects. False: it was not waiting.
 */
bool waits_note(struct waits *waits, struct model *model, const struct model_exit *end, size_t fact,
		int64_t since);

/*
 * The application begins to destroy a queue pair, and nothing had completed since @since: what it
 * waited for until then counts where it waits for nothing when it ends.
 */
void waits_destroy(struct waits *waits, struct model *model, const struct trace_event *event,
		   int64_t since);

/* What became of the other ends is known: complete the sentences. */
void waits_finish(struct waits *waits);

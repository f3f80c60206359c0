#pragma once
/*
 * Counting posts and polls in a profile. Not thread-safe.
 */
#include "analyzer/profile/profiler.h"

/* Reports of the model. */
void data_count_post(struct profiler *p, const struct model_post *post);
void data_count_completion(struct profiler *p, const struct model_complete *complete);
void data_note_modify(struct profiler *p, const struct model_modify *modify);

/* A poll; call it before the model processes its completions. */
void data_count_poll(struct profiler *p, const struct trace_event *event);
void data_count_notify(struct profiler *p, const struct trace_event *event);

/* The end of the trace. */
void data_finish(struct profiler *p);

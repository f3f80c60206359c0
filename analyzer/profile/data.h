#pragma once
/*
 * Posts and polls, as a profile counts them. One thread.
 */
#include "analyzer/profile/profiler.h"

/* What the model tells of. */
void data_post(struct profiler *p, const struct model_post *post);
void data_complete(struct profiler *p, const struct model_complete *complete);

/* A poll, before the model has seen it: its completions follow. */
void data_poll(struct profiler *p, const struct trace_event *event);
void data_notify(struct profiler *p, const struct trace_event *event);

/* The end of the trace. */
void data_finish(struct profiler *p);

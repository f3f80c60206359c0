#pragma once
/*
 * Control verbs, as a profile counts them. One thread.
 */
#include "analyzer/profile/profiler.h"

/* A call, counted or not. */
void calls_see(struct profiler *p, const struct trace_event *event);

/* A call, with its return. */
void calls_count(struct profiler *p, const struct trace_event *event);

/* @thread posts to a send queue: what it called since its last post kept it from that. */
void calls_posted(struct profiler *p, struct worker *worker);

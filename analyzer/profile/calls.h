#pragma once
/*
 * Counting control verbs in a profile. Not thread-safe.
 */
#include "analyzer/profile/profiler.h"

/* A call, whether it is counted or not. */
void calls_note_cq(struct profiler *p, const struct trace_event *event);

/* Count a call, with its return. */
void calls_count(struct profiler *p, const struct trace_event *event);

/* @worker posts to a send queue: the calls since its last post delayed this one. */
void calls_note_post(struct profiler *p, struct worker *worker);

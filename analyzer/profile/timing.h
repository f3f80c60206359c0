#pragma once
/*
 * Making a time line in the pass that computes a profile (pass.c). Not thread-safe.
 */
#include "analyzer/model/model.h"
#include "analyzer/profile/timeline.h"

struct timing;

/* Requests go to @lanes, unless it is NULL. 0, or -ENOMEM after log_err(). */
int timing_new(struct trace *trace, struct model *model, struct lanes *lanes,
	       struct timing **ret_timing);

/* Call it before the model gets @event. 0, or -ENOMEM after log_err(). */
int timing_note_event(struct timing *timing, const struct trace_event *event);

/* Pass on all reports of the model. */
void timing_note_post(struct timing *timing, const struct model_post *post);
void timing_note_completion(struct timing *timing, const struct model_complete *complete);
void timing_note_modify(struct timing *timing, const struct model_modify *modify);

/* After the last event: the time line, for timeline_free(). */
struct timeline *timing_finish(struct timing *timing);

/* Accepts NULL. */
void timing_free(struct timing *timing);

#pragma once
/*
 * Messages with both ends recorded: the time on the network, and the time in a CQ.
 *
 * Not thread-safe.
 */
#include "analyzer/profile/profiler.h"

/* Reports of the model, whether counted or not: no message may be left out. */
void messages_note_post(struct profiler *p, const struct model_post *post);
void messages_note_completion(struct profiler *p, const struct model_complete *complete);
void messages_note_modify(struct profiler *p, const struct model_modify *modify);
void messages_note_retired(struct profiler *p, const struct life *object);

void messages_fini(struct profiler *p);

#pragma once
/*
 * Messages of which both ends are recorded: how long they were on the way, and then lay in a CQ.
 *
 * One thread.
 */
#include "analyzer/profile/profiler.h"

/* What the model tells of, counted or not: the order of messages must not break. */
void messages_post(struct profiler *p, const struct model_post *post);
void messages_complete(struct profiler *p, const struct model_complete *complete);
void messages_modify(struct profiler *p, const struct model_modify *modify);
void messages_retire(struct profiler *p, const struct life *object);

void messages_fini(struct profiler *p);

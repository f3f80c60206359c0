#pragma once
/*
 * The outstanding requests of a queue over time, and receive queues that had no receive for a
 * message. One thread.
 */
#include "analyzer/model/watcher.h"
#include "analyzer/profile/profile.h"

/*
 * Requests were posted to the queue of @side, or one is about to complete. What was before @since
 * is not counted.
 */
void depth_post(struct profile_side *side, const struct model_post *post, int64_t since);
void depth_complete(struct profile_side *side, const struct model_complete *complete,
		    int64_t since);

/* All of its requests are dropped: it is reset. */
void depth_reset(struct profile_side *side);

/* Receives were posted: count the messages that waited for them. */
void depth_starved(struct profile_starved *starved, const struct model_post *post);

#pragma once
/*
 * The outstanding requests of a queue over time, and receive queues that had no receive for a
 * message. Not thread-safe.
 */
#include "analyzer/model/watcher.h"
#include "analyzer/profile/profile.h"

/*
 * Requests were posted to the queue of @side, or a request is about to complete. The time before
 * @since is not counted.
 */
void depth_count_post(struct profile_side *side, const struct model_post *post, int64_t since);
void depth_count_completion(struct profile_side *side, const struct model_complete *complete,
			    int64_t since);

/* The queue is reset: all of its requests are dropped. */
void depth_reset(struct profile_side *side);

/* Receives were posted: count the messages that waited for them. */
void depth_count_starved(struct profile_starved *starved, const struct model_post *post);

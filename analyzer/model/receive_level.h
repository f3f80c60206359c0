#pragma once
/*
 * The level of a receive queue: how many receives are posted, over time.
 *
 * A peak is the level after posts and before the next completion. If the peaks only fall, receives
 * leak: some completions are not followed by a post. A program that posts its receives in another
 * thread, or many at once, has peaks that rise as well.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct life;
struct queue;
struct trace_event;

/* Receives were posted to @queue. */
void receive_level_note_posts(struct queue *queue);

/* A receive of @queue has completed on @qp; it is not yet removed from @queue. */
void receive_level_note_completion(struct queue *queue, const struct life *qp,
				   const struct trace_event *event);

/* How many receives of an SRQ @qp has consumed since the SRQ was last full. */
uint64_t receive_level_count_consumed(const struct queue *queue, const struct life *qp);

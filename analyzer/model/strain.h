#pragma once
/*
 * Queues that are asked for more than they have room for.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/model/watcher.h"

struct queue;
struct trace_event;

/* After a post on @queue of which it accepted the first @taken. 0 or -ENOMEM. */
int strain_post(const struct model_watcher *watcher, const struct trace_event *event,
		struct queue *queue, uint32_t taken);

/* Why @queue refuses a post: "qp1: 8 of 8 outstanding, 0 of them signalled"; NULL: it has room. */
const char *strain_reason(const struct queue *queue, char *text, size_t size);

/* The last request has the number, or the @buffer, of another one that is outstanding. */
void strain_twice(const struct model_watcher *watcher, struct queue *queue, bool buffer);

/* The queue is about to end, because it is destroyed or its process was @killed. */
void strain_end(const struct model_watcher *watcher, struct queue *queue, bool killed);

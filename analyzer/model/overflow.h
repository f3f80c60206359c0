#pragma once
/*
 * Queues that get more requests than their capacity.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/model/watcher.h"

struct post;
struct queue;
struct trace_event;

/* After a post on @queue, which accepted the first @taken requests. 0 or -ENOMEM. */
int overflow_note_post(const struct model_watcher *watcher, const struct trace_event *event,
		       struct queue *queue, uint32_t taken);

/*
 * Why @queue refuses @post: "qp1: 8 of 8 outstanding, 0 of them signalled", "qp1 was created with
 * max_recv_wr 0"; NULL: it is not full.
 */
const char *overflow_reason(const struct queue *queue, const struct post *post, char *text,
			    size_t size);

/* The last request has the wr_id, or (@buffer) the buffer, of another outstanding request. */
void overflow_report_duplicate(const struct model_watcher *watcher, struct queue *queue,
			       bool buffer);

/* The queue is about to be destroyed, or its process was @killed. */
void overflow_end_queue(const struct model_watcher *watcher, struct queue *queue, bool killed);

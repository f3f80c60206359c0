#pragma once
/*
 * Datagrams whose receiver is in the trace, too.
 *
 * A device drops a datagram whose Q_Key is not its receiver's, or that does not fit into its
 * receive behind the 40 bytes for the GRH; no completion tells the sender so. One finding per
 * queue, reported as a queue problem (queue.h).
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct model;
struct queue;
struct trace_event;

/* @taken requests of @event were posted to @queue, the send queue of a UD queue pair. */
void datagram_check_post(struct model *model, const struct trace_event *event, struct queue *queue,
			 uint32_t taken);

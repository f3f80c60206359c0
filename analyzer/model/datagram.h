#pragma once
/*
 * Datagrams whose receiver is in the trace, too.
 *
 * A device drops a datagram that has another Q_Key than its receiver, or that does not fit into its
 * receive behind the 40 bytes for the GRH; no completion says so at the sender. Reported once a
 * queue, as a strain.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct model;
struct queue;
struct trace_event;

/* @taken requests of @event were posted to @queue, the send queue of a UD queue pair. */
void datagram_posted(struct model *model, const struct trace_event *event, struct queue *queue,
		     uint32_t taken);

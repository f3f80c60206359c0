#pragma once
/*
 * Requests that are sent one at a time, although the next one is ready.
 *
 * A turn is a request that was posted alone to an empty send queue, directly after the completion
 * of the one before had been polled; preparing it took no longer than it was outstanding. A turn
 * counts only if it cannot depend on the result of the request before it: no message was received
 * meanwhile, the other end posted nothing, the buffer is another, and it is a send, a write to
 * another address, or a READ with the same address stride as before. That leaves out ping-pongs,
 * requests with responses, latency tests and chains of pointers.
 *
 * A turn may also follow the completion of a request on another queue pair of the process: requests
 * that are sent to several peers in turn. The later request must have the same opcode, and another
 * buffer.
 *
 * Not thread-safe.
 */
enum { SERIAL_ROOM = 16 }; /* a smaller queue is chosen for one request at a time */

struct model;
struct queue;
struct trace_event;

/* Requests were posted to @queue, a send queue. Before steady_note_post() sees the post. */
void serial_note_post(struct model *model, struct queue *queue, const struct trace_event *event);

/* A completion of @queue was polled; its request is still outstanding. */
void serial_note_completion(struct model *model, struct queue *queue,
			    const struct trace_event *event);

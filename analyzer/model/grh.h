#pragma once
/*
 * The 40 bytes for a global route header at the begin of each datagram's buffer.
 *
 * Reported once per queue, as a queue problem: a receive that is large enough for the header only,
 * and a send from the beginning of a buffer into which a datagram was received.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct model;
struct queue;

enum { GRH_BYTES = 40 };

/* A request has been pushed to @queue, which belongs to a UD queue pair. */
void grh_note_receive(struct model *model, struct queue *queue);

/* The request at @at of @queue, a receive, completes without an error. */
void grh_note_completion(struct queue *queue, uint32_t at);

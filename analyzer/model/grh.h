#pragma once
/*
 * The 40 bytes for a global route header at the begin of each datagram's buffer.
 *
 * Reported once a queue, as a strain: a receive that has room for nothing else, and a send from the
 * beginning of a buffer that was received into.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct model;
struct queue;

enum { GRH_BYTES = 40 };

/* The last request of @queue, which is of a UD queue pair, has been pushed. */
void grh_pushed(struct model *model, struct queue *queue);

/* The request at @at of @queue, a receive, completes without an error. */
void grh_polled(struct queue *queue, uint32_t at);

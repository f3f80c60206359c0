#pragma once
/*
 * SENDs without bytes to receives that have room for some: num_sge was not set, or no setter of
 * ibv_wr_*() was called.
 *
 * A message without bytes may be a signal, so only a queue pair that sends nothing else counts.
 *
 * Not thread-safe.
 */
struct model;
struct queue;

/* The last request of the send queue @queue has been pushed. */
void empty_check_request(struct model *model, struct queue *queue);

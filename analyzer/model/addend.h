#pragma once
/*
 * IBV_WR_ATOMIC_FETCH_AND_ADDs that add 0, with a small value in swap, which only a
 * compare-and-swap uses: the value was to be added.
 *
 * To add 0 is to read, and swap may then be left over from another request: only a queue pair whose
 * atomics are all of this kind counts.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct queue;
struct trace_event;

/* @event has posted @taken requests to @queue, the send queue of a queue pair. */
void addend_note_post(struct queue *queue, const struct trace_event *event, uint32_t taken);

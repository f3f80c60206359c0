#pragma once
/*
 * Clock differences of two traces, from connections of librdmacm.
 *
 * Not thread-safe.
 */
#include "analyzer/model/clock_edge.h"

struct clock_cm;
struct trace;
struct trace_event;

/* NULL if out of memory. */
struct clock_cm *clock_cm_new(struct trace *joint);

/* Accepts NULL. */
void clock_cm_free(struct clock_cm *cm);

/* The next event of a control verb; the events of one process are in order. 0 or -ENOMEM. */
int clock_cm_process_event(struct clock_cm *cm, const struct trace_event *event);

/* @process has a queue pair with that number. 0 or -ENOMEM. */
int clock_cm_add_qp(struct clock_cm *cm, uint32_t process, uint32_t number);

/* Call after the last event: bound the clocks (struct clock_edge: objects). */
void clock_cm_finish(const struct clock_cm *cm, struct clock_edges *edges);

#pragma once
/*
 * Clock differences of two traces, from datagrams.
 *
 * Not thread-safe.
 */
#include "analyzer/model/clock_edge.h"

struct clock_datagrams;
struct life;
struct trace;
struct trace_event;

/* @joint and @edges must outlive the result. NULL if out of memory. */
struct clock_datagrams *clock_datagrams_new(struct trace *joint, struct clock_edges *edges);

/* Accepts NULL. */
void clock_datagrams_free(struct clock_datagrams *grams);

/* Add a live queue pair; types other than UD are ignored. */
int clock_datagrams_add_qp(struct clock_datagrams *grams, const struct life *qp);

/* Are there two traces that may have exchanged datagrams? */
bool clock_datagrams_has_any(const struct clock_datagrams *grams);

/*
 * The next event, after all queue pairs are known; the events of one process are in order. Bounds
 * the clocks (struct clock_edge). 0 or -ENOMEM.
 */
int clock_datagrams_process_event(struct clock_datagrams *grams, const struct trace_event *event);

#pragma once
/*
 * Table `qps`: each queue pair with its peer, capabilities and last state.
 */
#include "core/store/vtab/made.h"

struct trace;
struct qps;

/* Nothing is read before the table is used. NULL if out of memory. */
struct qps *qps_new(struct trace *trace);

/* Accepts NULL. */
void qps_free(struct qps *qps);

/*
 * For a pass of another purpose that sees all events: qps_begin() before it, qps_leave() for each
 * report of model_watcher.leave, qps_end() after it. The table then needs no pass. 0 or -errno
 * after log_err().
 */
struct life;
int qps_begin(struct qps *qps);
void qps_leave(void *qps, const struct life *life);
int qps_end(struct qps *qps);

extern const struct made_table qps_table; /* its argument is a struct qps */

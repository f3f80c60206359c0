#pragma once
/*
 * Table `qps`: each queue pair with its peer, capabilities and last state.
 */
#include "core/store/vtab/computed.h"

struct trace;
struct qps;

/* Nothing is read before the table is used. NULL if out of memory. */
struct qps *qps_new(struct trace *trace);

/* Accepts NULL. */
void qps_free(struct qps *qps);

/*
 * For another pass that reads all events anyway: call qps_begin() before it, qps_leave() for each
 * model_watcher.leave, and qps_end() after it. The table then needs no pass of its own. 0 or -errno
 * after log_err().
 */
struct life;
int qps_begin(struct qps *qps);
void qps_leave(void *qps, const struct life *life);
int qps_end(struct qps *qps);

extern const struct computed_table qps_table; /* its argument is a struct qps */

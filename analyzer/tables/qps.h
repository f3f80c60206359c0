#pragma once
/*
 * Table `qps`: each queue pair with its peer, capabilities and last state.
 */
#include "core/store/vtab/made.h"

struct trace;
struct qps;

/* Nothing is read before the table is used. NULL without memory. */
struct qps *qps_new(struct trace *trace);

/* Accepts NULL. */
void qps_free(struct qps *qps);

extern const struct made_table qps_table; /* its argument is a struct qps */

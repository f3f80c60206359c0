#pragma once
/*
 * Line one of every report: the first completion in error of each queue pair
 * that is not a flush, with the work request that it belongs to. On such a
 * completion only wr_id, status, qp_num and vendor_err are valid, so the rest
 * comes from what was posted.
 *
 * One thread.
 */
#include "analyzer/findings.h"

/* enum ibv_wc_status */
enum { FIRST_SUCCESS = 0, FIRST_FLUSH = 5 };

struct first;

/* Adds to @findings. Returns 0 or -ENOMEM after log_err(). */
int first_new(struct trace *trace, struct findings *findings, struct first **ret_first);

/* Accepts NULL. */
void first_free(struct first *first);

/* A poll. Returns 0 or -errno after log_err(). */
int first_event(struct first *first, const struct trace_event *event);

/* Look up in the trace what was posted. Returns 0 or -errno after log_err(). */
int first_finish(struct first *first);

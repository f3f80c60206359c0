#pragma once
/*
 * The first line of every report: the first completion error of each queue pair
 * that is not a flush, with its work request. Of such a completion only wr_id,
 * status, qp_num and vendor_err are valid; the rest comes from the post.
 *
 * One thread.
 */
#include "analyzer/rules/findings.h"

/* enum ibv_wc_status */
enum { FIRST_SUCCESS = 0, FIRST_FLUSH = 5 };

struct first;

/* Adds to @findings. Returns 0 or -ENOMEM after log_err(). */
int first_new(struct trace *trace, struct findings *findings, struct first **ret_first);

/* Accepts NULL. */
void first_free(struct first *first);

/* Examine a poll. Returns 0 or -errno after log_err(). */
int first_event(struct first *first, const struct trace_event *event);

/* Look up the work requests in the trace. Returns 0 or -errno after log_err(). */
int first_finish(struct first *first);

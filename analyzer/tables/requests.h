#pragma once
/*
 * Table `requests`: each work request with its outcome.
 *
 * One thread.
 */
#include "core/store/vtab/made.h"

struct trace_event;

extern const struct made_table requests_table; /* its argument is the trace */

/* Call @see with each event that is read from now on, before the rows that it makes. */
void requests_watch(void *rows, void (*see)(void *arg, const struct trace_event *event), void *arg);

/* The process of the current row; 0: not known. */
uint32_t requests_process(const void *rows);

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

/*
 * Collect at least @least rows, if there are so many, before the next one is returned: then these
 * can be read column by column, which takes half of the time.
 */
void requests_collect(void *rows, uint32_t least);

/* The collected rows from the current one on that are of its process (0: not known). */
uint32_t requests_run(const void *rows, uint32_t *ret_process);

/* The value of a column of the row @ahead rows after the current one. */
void requests_value_at(const void *rows, uint32_t ahead, int column, struct made_value *value);

/* Skip @n rows before the next one, fewer than requests_run(). */
void requests_skip(void *rows, uint32_t n);

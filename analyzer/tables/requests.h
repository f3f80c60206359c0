#pragma once
/*
 * Table `requests`: each work request with its outcome.
 *
 * Not thread-safe.
 */
#include "core/store/vtab/cells.h"

struct trace_event;

extern const struct computed_table requests_table; /* its argument is the trace */

struct life;

/* A further user of the pass; functions may be NULL. */
struct requests_watcher {
	/* each event that is read from now on, before the rows that it makes */
	void (*see)(void *arg, const struct trace_event *event);
	void (*leave)(void *arg, const struct life *life); /* as in struct model_watcher */
	void *arg;
};

void requests_watch(void *rows, const struct requests_watcher *watcher);

/*
 * Collect at least @least rows, if there are so many, before the next one is returned: then the
 * collected rows can be read column by column, which is much faster.
 */
void requests_collect(void *rows, uint32_t least);

/* The collected rows from the current one on, at most CELLS_ROWS. */
uint32_t requests_count(const void *rows);

/* The process of the row @ahead rows after the current one; 0: not known. */
uint32_t requests_process(const void *rows, uint32_t ahead);

/* The values of a column of @n rows, from the row @from rows after the current one on. */
void requests_fill(const void *rows, uint32_t from, uint32_t n, int column, struct cells *cells);

/*
 * Rows with equal keys, of REQUESTS_KEY words of 8 bytes, have equal values in all columns but
 * those with a bit in requests_varying.
 */
enum { REQUESTS_KEY = 8 };
extern const uint64_t requests_varying;
const void *requests_key(const void *rows, uint32_t ahead);

/* Skip @n rows before the next one, fewer than requests_count(). */
void requests_skip(void *rows, uint32_t n);

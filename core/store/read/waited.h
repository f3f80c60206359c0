#pragma once
/*
 * How long the recorder made threads wait: table `waited`. Older traces lack the table, and in
 * imported ones its rows are useless: key `waits` of meta is "yes" if it is valid.
 *
 * For one trace, not a joint one. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct trace;
struct waited;

struct waited_row {
	struct event_id id;
	uint32_t process;
	int64_t time, ns;
	uint64_t times;
	bool full; /* the ring was full; else it was being extended */
};

/* Query the rows in order of time, without those that the previous trace also has. 0 or -errno. */
int waited_open(struct trace *trace, struct waited **ret_waited);

/* The next row: 1, 0 at the end, or -errno after log_err(). */
int waited_next(struct waited *waited, struct waited_row *ret_row);

/* Accepts NULL. */
void waited_close(struct waited *waited);

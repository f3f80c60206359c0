#pragma once
/*
 * The tables that need the model: requests, qps, queue_depth. Only `verbatim sql` has them.
 *
 * One thread.
 */
#include "core/store/vtab/made.h"

struct trace;
struct model_tables;

/* All of them, up to NULL: for listings. */
extern const struct made_table *const model_tables[];

/* Add them to the trace's connection. 0 or -errno; free after the trace is closed. */
int model_tables_add(struct trace *trace, struct model_tables **ret_tables);

/* Accepts NULL. */
void model_tables_free(struct model_tables *tables);

#pragma once
/*
 * The tables that need the model: requests, qps, queue_depth. Only `verbatim sql` has them.
 *
 * Not thread-safe.
 */
#include "core/store/vtab/computed.h"

struct trace;
struct model_tables;
struct qps;

/* All tables, terminated by NULL: for listings. */
extern const struct computed_table *const model_tables[];

/* Add the tables to the trace's connection. 0 or -errno; free after the trace is closed. */
int model_tables_add(struct trace *trace, struct model_tables **ret_tables);

/* Table qps, to be filled by a pass of another purpose (qps.h). */
struct qps *model_tables_qps(struct model_tables *tables);

/* Accepts NULL. */
void model_tables_free(struct model_tables *tables);

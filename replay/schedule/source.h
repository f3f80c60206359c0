#pragma once
/*
 * A trace as the source of events of an order, with what else the trace tells of them.
 */
#include "replay/schedule/order.h"

struct source;

/* Returns 0 or -errno after log_err(). */
int source_open(struct trace *trace, struct source **ret_source);

/* Accepts NULL. */
void source_close(struct source *source);

struct order_source source_of(struct source *source);

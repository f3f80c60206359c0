#pragma once
/*
 * A trace as the source of events of an order, with the other recorded facts that the order needs.
 */
#include "replay/schedule/order.h"

struct source;

/* Returns 0 or -errno after log_err(). */
int source_open(struct trace *trace, struct source **ret_source);

/* Accepts NULL. */
void source_close(struct source *source);

struct order_source source_of(struct source *source);

#pragma once
/*
 * Objects of librdmacm: identifiers and event channels, and their unacknowledged events.
 *
 * Derived only from calls of librdmacm; the verbs that these calls make count as the program's, as
 * everywhere. Not thread-safe.
 */
#include "analyzer/model/model_state.h"

/* A call of the application to librdmacm, or its return. 0 or -errno after log_err(). */
int cm_process_event(struct model *model, const struct trace_event *event);

/* The port of an address such as "192.0.2.1:7471"; 0: it has none. Accepts NULL. */
uint16_t cm_find_port(const char *address);

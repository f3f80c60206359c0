#pragma once
/*
 * Objects of another context, or invalid ones, passed to a creation.
 *
 * Not thread-safe.
 */

struct model;
struct trace_event;

/* A call of the application has returned: check the objects that were passed to a creation. */
void foreign_check(struct model *model, const struct trace_event *event);

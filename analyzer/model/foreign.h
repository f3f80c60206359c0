#pragma once
/*
 * Objects of another context, or invalid ones, passed to a creation.
 *
 * Not thread-safe.
 */

struct model;
struct trace_event;

/* The return of a call of the application. */
void foreign_check(struct model *model, const struct trace_event *event);

#pragma once
/*
 * The events of several traces in time order: what a cursor of a joint trace does. One thread.
 */
#include "core/store/read/trace.h"

struct joint_cursor;

/* As cursor_open(), cursor_next() and cursor_close(). */
int joint_cursor_open(struct trace *trace, const struct trace_filter *filter,
		      struct joint_cursor **ret_cursor);
int joint_cursor_next(struct joint_cursor *cursor, const struct trace_event **ret_event);
void joint_cursor_close(struct joint_cursor *cursor);

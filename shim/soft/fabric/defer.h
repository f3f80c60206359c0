#pragma once
/*
 * Events that could not be written yet, because the pipe is full or no file descriptor is left. No
 * event is lost. Any thread, with any lock.
 */
#include <stdbool.h>

#include "shim/soft/fabric/pipe_event.h"

/* Keep @event for the pipe at @path and write it as soon as that is possible. */
void defer_add(const char *path, const struct pipe_event *event);

/* Write @event to the pipe at @path now, or keep it behind those that wait already. */
void defer_write(const char *path, const struct pipe_event *event);

/* In a child: the events in the queue are the parent's. */
void defer_forget(void);

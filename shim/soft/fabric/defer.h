#pragma once
/*
 * Events that could not be written yet, because the pipe is full or no file descriptor is left. No
 * event is lost. Any thread, with any lock held.
 */
#include <stdbool.h>

#include "shim/soft/fabric/pipe_event.h"

/* Store @event for the pipe at @path, and write it as soon as possible. */
void defer_add(const char *path, const struct pipe_event *event);

/* Write @event to the pipe at @path now, or store it behind the events that already wait. */
void defer_write(const char *path, const struct pipe_event *event);

/* In a child: forget the stored events, which belong to the parent. */
void defer_forget(void);

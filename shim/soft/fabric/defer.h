#pragma once
/*
 * Events that could not be written to their pipe: it is full, or there is
 * no file descriptor to spare. Nothing is lost. Any thread, with any lock.
 */
#include <stdbool.h>

#include "shim/soft/fabric/pipe.h"

/* Keep @event for the pipe at @path and write it as soon as that is possible. */
void defer_add(const char *path, const struct pipe_event *event);

/* Are there some for @path, which must go first? Cheap if there are none. */
bool defer_has(const char *path);

/* In a child: these are the parent's. */
void defer_forget(void);

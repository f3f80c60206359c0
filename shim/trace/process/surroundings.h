#pragma once
/*
 * The environment of a process: its limits, and environment variables of RDMA libraries.
 */
#include "core/wire/event.h"

enum { SURROUNDINGS_BYTES = 8192 }; /* maximum bytes of the environment */

/* Set the limits of @event. May change errno. */
void surroundings_limits(struct event_process *event);

/*
 * Write the variables that may be recorded (core/wire/variable.h) to @text, in the form of struct
 * event_process: at most SURROUNDINGS_BYTES. Values are those at the start of the process, except
 * variables that libibverbs reads for forks: their current values. Returns the number of bytes.
 */
size_t surroundings_environ(char *text);

/*
 * Add the variables read from @fd, each NAME=VALUE and a NUL, after the @used bytes of @text.
 * Returns the number of bytes that are then used.
 */
size_t surroundings_read(int fd, char *text, size_t used);

#pragma once
/*
 * What a process runs in: its limits, and what its environment tells RDMA libraries.
 */
#include "core/wire/event.h"

enum { SURROUNDINGS_BYTES = 8192 }; /* of the environment, at most */

/* Fill in the limits of @event. errno is not kept. */
void surroundings_limits(struct event_process *event);

/*
 * Put the variables that may be recorded (core/wire/variable.h) to @text, as struct event_process
 * has them: at most SURROUNDINGS_BYTES. Those that the process began with; what libibverbs asks for
 * about forks as it is now. Returns how many bytes.
 */
size_t surroundings_environ(char *text);

/*
 * The part of it that is read from @fd, NAME=VALUE and a NUL each; behind the @used bytes of @text.
 * Returns how many are used then.
 */
size_t surroundings_first(int fd, char *text, size_t used);

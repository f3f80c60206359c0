#pragma once
/*
 * Events for a process, in a named pipe of the fabric: a real file descriptor that can be polled,
 * written by the process that causes the event. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/pipe_event.h"
#include "shim/soft/fabric/shared.h"

/*
 * Create a pipe. Returns a file descriptor, and in *@ret_id the number that senders use; or -errno.
 */
int pipe_open(uint32_t *ret_id);
void pipe_close(int fd, uint32_t id);

/* Send @event to pipe @id of the process that owns @seg. Never blocks; an event is never lost. */
void pipe_send(struct shm_seg *seg, uint32_t id, const struct pipe_event *event);
/* As pipe_send(), for a process given by its node and instance. */
void pipe_send_to(uint32_t node, uint64_t instance, uint32_t id, const struct pipe_event *event);

/* Remove the events for an object from pipe @id of this process. */
void pipe_purge(uint32_t id, uint32_t kind, uint32_t index, uint32_t serial);

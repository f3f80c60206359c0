#pragma once
/*
 * The objects of the trace in the replay: created, destroyed, left over.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct replay;

/* Note that @object was created as @handle, its keys and numbers. Returns 0 or -ENOMEM. */
int replica_note_created(struct replay *r, uint32_t object, void *handle);

/* Note that @object was destroyed; if it is a context, with all objects created from it. */
void replica_note_destroyed(struct replay *r, uint32_t object);

/* Destroy @object, unless it was destroyed already. */
void replica_destroy(struct replay *r, uint32_t object);

/*
 * Process @process ends by itself, with --processes: poll the completions of its queues first; once
 * it has ended, forget its objects.
 */
void replica_leave(struct replay *r, uint32_t process);
void replica_forget(struct replay *r, uint32_t process);

/* Destroy the remaining objects of process @process, newest first; 0: of all processes. */
void replica_clear(struct replay *r, uint32_t process);

void replica_fini(struct replay *r);

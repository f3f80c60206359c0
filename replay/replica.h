#pragma once
/*
 * Objects of the trace as they are here: created, destroyed, left over.
 *
 * One thread.
 */
#include <stdint.h>

struct replay;

/* @object was created here as @handle: note its keys and numbers. Returns 0 or -ENOMEM. */
int replica_made(struct replay *r, uint32_t object, void *handle);

/* @object was destroyed here; with a context goes all that was made from it. */
void replica_gone(struct replay *r, uint32_t object);

/* Destroy it, unless that was done. */
void replica_destroy(struct replay *r, uint32_t object);

/*
 * Process @process ends by itself, as --processes has it: take what has completed on its queues;
 * and when it has ended, forget what it left.
 */
void replica_leave(struct replay *r, uint32_t process);
void replica_forget(struct replay *r, uint32_t process);

/* Destroy what process @process left, newest first; 0: everything that is left. */
void replica_clear(struct replay *r, uint32_t process);

void replica_fini(struct replay *r);
